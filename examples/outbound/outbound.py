"""Calls an API from Python within the account's limits in limits.yaml. The keys are those of guard, so that programs in Go and Python share them."""

import email.utils
import json
import sys
import time
import urllib.error
import urllib.request
import uuid
from datetime import timedelta

import redis
from rlfunc_clients import Micros, abuse, guard

KIND = guard.LimitKind
MINUTE = timedelta(minutes=1, milliseconds=500)  # guard's windows are 2 % longer, by half a second at most
AT_ONCE = guard.Limit(name="llm/at_once", kind=KIND.CONCURRENCY, limit=5, window=timedelta(seconds=30))
LIMITS = [
    guard.Limit(name="llm/requests", kind=KIND.SLIDING_LOG, limit=60, window=MINUTE),
    guard.Limit(name="llm/pace", kind=KIND.GCRA, limit=60, window=timedelta(minutes=1), burst=2),
    AT_ONCE,
]
BUDGETS = [guard.Budget(budget=Micros(40000), window=MINUTE, unit="tokens", name="tokens")]  # whole ones of a unit


class Upstream:
    """An account of an API. Threads may share it."""

    def __init__(self, client: redis.Redis, account: str = "default", max_wait: float = 30) -> None:
        self.guard = guard.Client(client, namespace="outbound")
        self.abuse = abuse.Client(client, namespace="outbound")
        self.subject, self.max_wait = "account=llm/" + account, max_wait

    def open(self, request: "urllib.request.Request | str", tokens: int = 1500) -> bytes:
        """Sends a request once the account allows it, and returns the body. Its tokens are reserved until the response tells what it has used.
        A call must not last longer than the lease, 30 s."""
        call = str(uuid.uuid4())
        self._wait(call, tokens)
        try:
            with urllib.request.urlopen(request, timeout=25) as response:
                body = response.read()
            tokens = _used(body, tokens)
            return body
        except urllib.error.HTTPError as error:
            tokens = 0  # it has used nothing
            pause = min(max(map(_wait_of, error.headers.get_all("Retry-After", [])), default=0), 3600) or float(error.code == 429)
            if pause > 0:  # no process calls until then
                self.abuse.block(self.subject, duration=timedelta(seconds=pause), reason="the upstream asked for a pause")
            raise
        except urllib.error.URLError as error:
            if not isinstance(error.reason, TimeoutError):  # nothing was sent
                tokens = 0
            raise
        finally:
            self.guard.release(self.subject, limits=[AT_ONCE], holder=call)
            self.guard.settle(self.subject, budgets=BUDGETS, reservation=call, units=_amount(tokens))

    def _wait(self, call: str, tokens: int) -> None:
        ends = time.monotonic() + self.max_wait
        while True:
            answer = self.guard.admit(self.subject, limits=LIMITS, holder=call, budgets=BUDGETS, reservation=call, units=_amount(tokens))
            if answer.allowed:
                return
            wait = answer.retry_after.total_seconds()  # 0 if no wait helps
            if any(not row.allowed for row in answer.limits[2:] + answer.budgets):
                wait = min(wait, 0.1)  # another call may end at any time
            if wait == 0 or time.monotonic() + wait > ends:
                raise TimeoutError(f"{self.subject} is refused by {answer.reason.value}; try again in {answer.retry_after}")
            time.sleep(wait)


def _wait_of(text: str) -> float:
    """Returns the seconds of a Retry-After: a number, with or without decimals, or a date."""
    try:
        wait = float(text)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError):
            return 0
    return wait if wait > 0 else 0  # nor if it is not a number


def _amount(tokens: int) -> "list[guard.UnitAmount]":
    return [guard.UnitAmount(unit="tokens", amount=tokens)]


def _used(body: bytes, estimate: int) -> int:
    try:
        usage = json.loads(body)["usage"]
        used = usage["prompt_tokens"] + usage["completion_tokens"]
        return used if type(used) is int and 0 < used < 10**15 else estimate
    except (ValueError, KeyError, TypeError, RecursionError):  # it does not say so
        return estimate


if __name__ == "__main__":
    print(Upstream(redis.Redis.from_url(sys.argv[1])).open(sys.argv[2]).decode())
