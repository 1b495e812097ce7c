"""What mypy --strict says of programs that use the clients: each ignored line is an error, and no other."""

from datetime import timedelta

import redis
from rlfunc_clients import Micros, cost, ratelimit

MINUTE = timedelta(minutes=1)
KIND = ratelimit.LimitKind.GCRA


def use(limits: ratelimit.Client) -> int:
    limits.gcra("u", limit=1, period=60)  # type: ignore[arg-type]
    limits.gcra("u", limit=MINUTE, period=MINUTE)  # type: ignore[arg-type]
    limits.gcra("u", limit=1)  # type: ignore[call-arg]
    limits.gcra("u", limit=1, window=MINUTE)  # type: ignore[call-arg]
    limits.gcra("u", 1, MINUTE)  # type: ignore[misc]
    limits.check("u", limits=[ratelimit.Limit(name="a", kind="gcra", limit=1, window=MINUTE)])  # type: ignore[arg-type]
    limits.check("u", limits=[ratelimit.Limit(name="a", kind=KIND, limit=1, window=MINUTE)]).limits[0].none  # type: ignore[attr-defined]
    return limits.gcra(b"u", limit=1, period=MINUTE, burst=None).remaining


async def use_asyncio(limits: ratelimit.AsyncClient, money: cost.AsyncClient) -> timedelta:
    limits.gcra("u", limit=1, period=MINUTE).remaining  # type: ignore[attr-defined]
    await money.settle("u", receipt="r", actual=5, budgets=[])  # type: ignore[arg-type]
    await money.settle("u", receipt="r", actual=Micros(5), budgets=[])
    return (await limits.gcra("u", limit=1, period=MINUTE)).retry_after


use(ratelimit.Client(redis.Redis()))
