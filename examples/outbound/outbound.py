"""Calls an API from Python within the account's limits in limits.yaml. The keys are those of guard, so that programs in Go and Python share them."""

import sys
import time
import urllib.error
import urllib.request
import uuid
from datetime import timedelta

import redis
from rlfunc_clients import abuse, guard

KIND = guard.LimitKind
MINUTE = timedelta(minutes=1, milliseconds=500)  # guard's windows are 2 % longer, by half a second at most
AT_ONCE = guard.Limit(name="llm/at_once", kind=KIND.CONCURRENCY, limit=5, window=timedelta(seconds=30))
LIMITS = guard.LimitPack(
    guard.Limit(name="llm/requests", kind=KIND.SLIDING_LOG, limit=60, window=MINUTE),
    guard.Limit(name="llm/pace", kind=KIND.GCRA, limit=60, window=timedelta(minutes=1), burst=2),
    AT_ONCE,
)
PLACES = guard.LimitPack(AT_ONCE)


class Upstream:
    """An account of an API. Threads may share it."""

    def __init__(self, client: redis.Redis, account: str = "default", max_wait: float = 30) -> None:
        self.guard = guard.Client(client, namespace="outbound")
        self.abuse = abuse.Client(client, namespace="outbound")
        self.subject, self.max_wait = "account=llm/" + account, max_wait

    def open(self, request: "urllib.request.Request | str") -> bytes:
        """Sends a request once the account allows it, and returns the body. A call must not last longer than the lease, 30 s."""
        holder = str(uuid.uuid4())
        self._wait(holder)
        try:
            with urllib.request.urlopen(request, timeout=25) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if error.code == 429:  # no process calls until then
                text = error.headers.get("Retry-After", "")
                pause = min(max(int(text), 1), 3600) if text.isdecimal() else 1
                self.abuse.block(self.subject, duration=timedelta(seconds=pause), reason="the upstream asked for a pause")
            raise
        finally:
            self.guard.release(self.subject, limits=PLACES, holder=holder)

    def _wait(self, holder: str) -> None:
        ends = time.monotonic() + self.max_wait
        while True:
            answer = self.guard.admit(self.subject, limits=LIMITS, holder=holder)
            if answer.allowed:
                return
            wait = answer.retry_after.total_seconds()
            if any(not row.allowed for row in answer.limits[2:]):
                wait = min(wait, 0.1)  # a place may be released at any time
            if time.monotonic() + wait > ends:
                raise TimeoutError(f"{self.subject} is refused by {answer.reason.value}; try again in {answer.retry_after}")
            time.sleep(wait)


if __name__ == "__main__":
    print(Upstream(redis.Redis.from_url(sys.argv[1])).open(sys.argv[2]))
