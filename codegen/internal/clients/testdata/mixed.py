"""Ten threads that call two limits of 10 once a line has come: prints how many of their calls passed."""

import os
import sys
import threading
from datetime import timedelta

import redis
from rlfunc_clients import guard, ratelimit

HOUR = timedelta(hours=1)
host, port = os.environ["REDIS"].split(":")
server = redis.Redis(host, int(port))
limits, decisions = ratelimit.Client(server), guard.Client(server)
rows = [guard.Limit(name="steady", kind=guard.LimitKind.GCRA, limit=10, window=HOUR)]
limits.gcra("other", limit=10, period=HOUR)
passed = [[], []]


def call():
    if limits.sliding_log("all {languages}", limit=10, window=HOUR).allowed:
        passed[0].append(1)
    if decisions.admit("all {languages}", limits=rows).allowed:
        passed[1].append(1)


threads = [threading.Thread(target=call) for _ in range(10)]
print("ready", flush=True)
sys.stdin.readline()
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(passed[0]), len(passed[1]), flush=True)
