"""Runs against the servers that python_test.go starts: REDIS is the server, PROXY stands before it, VECTORS is the folder of the tables that all languages share."""

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

import rlfunc_clients as rl
from rlfunc_clients import _announce, _client, _wire, everything, ratelimit
from rlfunc_clients._wire import Micros

HOST, PORT = os.environ["REDIS"].split(":")
PROXY_PORT = int(os.environ["PROXY"].split(":")[1])
VECTORS, SERVERS = (json.loads(Path(os.environ["VECTORS"], name).read_text()) for name in ("keys.json", "servers.json"))
MINUTE = timedelta(minutes=1)


def server() -> redis.Redis:
    return redis.Redis(HOST, int(PORT))


def through_proxy() -> redis.Redis:
    """A client that would send a call up to four times."""
    return redis.Redis(
        HOST, PROXY_PORT, retry=Retry(NoBackoff(), 3), retry_on_error=[redis.ConnectionError, redis.TimeoutError], socket_timeout=5
    )


def test_keys_are_those_of_go():
    assert len(VECTORS["keys"]) > 10 and len(VECTORS["namespaces"]) > 5
    for v in VECTORS["keys"]:
        subject = bytes.fromhex(v["bytes"])
        assert _wire.to_bytes(v["text"]) == subject
        assert subject.decode("utf-8", "surrogateescape") == v["text"]
        for given in (subject, v["text"]):
            assert _wire.tag(given).decode() == v["tag"]
            assert _wire.key("ns", given, "log").decode() == v["key"]
            assert _wire.key_of("ns", given, "log", given).decode() == v["key_of"]
    client = everything.Client(server(), namespace="ns")
    for v in VECTORS["keys"]:
        got = client.pays(v["text"], payer=v["text"], payee=bytes.fromhex(v["bytes"]))
        assert got.same and got.to == v["key_of"].replace("}:log:", "}:account:")
    for wrong in (None, 5, VECTORS["no_bytes"][0], "x" * 301):
        with pytest.raises(rl.ArgumentError) as found:
            client.pays("n", payer=wrong, payee="ann")
        assert len(found.value.problems) == 1 and found.value.problems[0].startswith("payer must be text")
    for text in [*VECTORS["no_bytes"], "", b""]:
        with pytest.raises(rl.ArgumentError):
            client.fail(text, how=everything.FailHow.NOT)
    for v in VECTORS["namespaces"]:
        try:
            _wire.check_name("namespace", v["text"])
            legal = True
        except ValueError:
            legal = False
        assert legal == v["legal"], v


def test_a_duration_is_a_timedelta_and_a_time_a_datetime():
    with pytest.raises(rl.ArgumentError) as found:
        ratelimit.Client(server()).fixed_window("u", limit=9, window=60)
    assert found.value.problems == ["window must be a timedelta, got int 60"]
    with pytest.raises(rl.ArgumentError) as found:
        everything.Client(server()).echo("u", **{**FULL, "since": 1763706867, "grace": "1h"})
    assert set(found.value.problems) == {"grace must be a timedelta, got str '1h'", "since must be a datetime, got int 1763706867"}


FULL = dict(
    number=100, cost=0, bonus=0, level=9, price=Micros(1_000_000_000), tip=Micros(1), window=timedelta(microseconds=2),
    grace=timedelta(hours=1), since=datetime(2025, 11, 21, 6, 34, 27, 123584, timezone.utc),
    latest=datetime(1970, 1, 1, 0, 0, 0, 1, timezone.utc), on=True, off=True, note=b"a\x00b\r\n\xff{}", receipt="r" * 256,
    kind=everything.EchoKind.BUCKET, mode=everything.EchoMode.OPEN,
)
ECHOED = everything.EchoResult(
    bucket="ns:{user42}:state", second="ns:{user42}:more", number=100, cost=0, bonus=0, level=9, price=Micros(1_000_000_000),
    tip=Micros(1), window=timedelta(microseconds=2), grace=timedelta(hours=1), since=FULL["since"], later=FULL["latest"], on=True,
    off=True, note="a\x00b\r\n\udcff{}", receipt="r" * 256, kind=everything.EchoKind.BUCKET, mode=everything.EchoMode.OPEN,
)


@pytest.mark.parametrize("decode", [False, True])
def test_every_type_comes_back_as_sent(decode):
    c = everything.Client(redis.Redis(HOST, int(PORT), decode_responses=decode), namespace="ns")
    assert c.echo("user42", **FULL) == ECHOED
    least = c.echo(
        "u", number=1, window=timedelta(microseconds=1), since=datetime(1970, 1, 1, tzinfo=timezone.utc), price=Micros(0), on=False,
        note="", kind=everything.EchoKind.LOG,
    )
    assert (least.cost, least.since, least.grace, least.mode) == (7, None, timedelta(seconds=5), everything.EchoMode.CLOSED)


def test_numbers_below_zero_and_defaults():
    c = everything.Client(server(), namespace="ns")
    steps = everything.SignsStepsPack(everything.SignsSteps(by=-5, rate=1 / 3, on=False), everything.SignsSteps(by=0))
    got = c.signs("u", delta=-1000, score=-0.1, wide=1 - 2**53, debt=-1, weight=1e-7, region="us", strict=False, steps=steps)
    assert (got.allowed, got.delta, got.score, got.wide, got.debt, got.weight, got.region) == (False, -1000, -0.1, 1 - 2**53, -1, 1e-7, "us")
    assert [(s.by, s.rate, s.on) for s in got.steps] == [(-5, 1 / 3, False), (0, -0.25, True)]
    got = c.signs("u", delta=0, score=-0.0)
    assert (got.allowed, got.delta, got.score, got.wide, got.weight, got.region) == (True, 0, 0, 7, 0.5, "eu west = 1")
    for wrong in (dict(delta=-1001), dict(delta=1.0), dict(score=float("nan")), dict(score=float("-inf")), dict(score=True), dict(debt=0)):
        with pytest.raises(rl.ArgumentError):
            c.signs("u", **{"delta": 0, "score": 0, **wrong})
    for text in (b"-0", b"01", b"1.5", b"9007199254740992", b"nan"):
        with pytest.raises(rl.ReplyError):
            _wire.Reply(_wire.Function("x", "f", results=(_wire.Result(text=True),)), [0, text]).signed()
    for text in (b"inf", b"nan", b"0x1", b" 1", b"1e400"):
        with pytest.raises(rl.ReplyError):
            _wire.Reply(_wire.Function("x", "f", results=(_wire.Result(text=True),)), [0, text]).decimal()


def test_a_float_without_bounds_is_any_finite_number():
    c = everything.Client(server(), namespace="ns")
    for n in (sys.float_info.max, -sys.float_info.max, 5e-324, 2.0**53, 1e300, 0.1, 10**22):
        steps = everything.OpenStepsPack(everything.OpenSteps(by=n), everything.OpenSteps())
        got = c.open("u", any=n, least=abs(n), most=-abs(n), steps=steps, list_=[n], times="one")
        assert (got.any, got.least, got.most, got.sum) == (n, abs(n), -abs(n), [n, 0.5, n])
    for must, wrong in {
        "any must be a finite number": dict(any=float("inf")),
        "least must be a number at least 0": dict(least=float("inf")),
        "most must be a number at most 5": dict(most=float("nan")),
        "list.0 must be a finite number": dict(list_=[float("-inf")]),
        "any must be a finite number, got 1": dict(any=10**309),
    }.items():
        with pytest.raises(rl.ArgumentError) as refused:
            c.open("u", **{**dict(any=0.0, least=0.0, times="one"), **wrong})
        assert must in str(refused.value)


def test_rules_of_the_header_are_checked_before_anything_is_sent():
    c = everything.Client(server(), namespace="ns")
    day, kind = datetime(2025, 1, 1, tzinfo=timezone.utc), everything.TogetherKind
    row, packed = everything.TogetherRows, everything.TogetherPacks
    fine = dict(kind=kind.ONE, limit=50, window=MINUTE, packs=everything.TogetherPacksPack(packed(low=-1, high=0)))
    assert c.together("u", rows=[row(id="a"), row(id="a", whole=9)], **fine).sum == 1
    for must, wrong in {
        "cost must be at most limit: it can never be allowed": dict(cost=51),
        "cost * limit must be below 5000 if kind is two": dict(kind=kind.TWO, cost=100, limit=100),
        "share must be below 1 unless fast": dict(share=1.0),
        "start + window must be at most after": dict(start=day, after=day + MINUTE - timedelta(microseconds=1)),
        "hold must be omitted if no receipt": dict(hold=MINUTE),
        "start and after must be given if kind is three": dict(kind="three", start=day),
        "receipt or other must be given if fast": dict(fast=True, limit=7),
        "other must differ from receipt": dict(receipt="a", other=b"a"),
        "kind must not be two if fast": dict(fast=True, kind="two", receipt="a"),
        "limit must be 7 or 9 if kind is one and fast": dict(fast=True, receipt="a"),
        "rows.1.part must be at most whole": dict(rows=[row(id="a"), row(id="b", part=51)]),
        "rows must differ in id or whole": dict(rows=[row(id="a"), row(id=b"a", whole=50)]),
        "names must differ": dict(names=["a", b"a"]),
        "names must have as many rows as rows if fast": dict(fast=True, receipt="a", limit=9, names=["a"]),
        "packs.0.wait must be at most window: a pack waits within it": dict(packs=everything.TogetherPacksPack(packed(low=0, wait=2 * MINUTE))),
    }.items():
        with pytest.raises(rl.ArgumentError) as refused:
            c.together("u", **{**fine, **wrong})
        assert must in str(refused.value)
    with pytest.raises(rl.ArgumentError, match=r"packs\.1\.low must be at most high"):
        everything.TogetherPacksPack(packed(low=1), packed(low=1, high=0))


def test_lists_come_back():
    c = everything.Client(server(), namespace="ns")
    kinds = [everything.ListsKinds.BUCKET, everything.ListsKinds.LOG]
    got = c.lists("u", names=["a", b"", "\udcff"], counts=(9, 0), deltas=[-5], scores=[0.5, 0], prices=[Micros(3)], waits=[MINUTE],
                  times=[datetime(2025, 1, 1, tzinfo=timezone.utc)], marks=[True, False], kinds=kinds, copies=2)
    assert (got.names, got.counts, got.deltas, got.scores) == (["a", "", "\udcff"] * 2, [9, 0], [-5], [0.5, 0])
    assert (got.prices, got.waits, got.marks, got.kinds) == ([3], [MINUTE], [True, False], kinds)
    assert (got.times, got.total) == ([datetime(2025, 1, 1, tzinfo=timezone.utc)], 60_000_009)
    got = c.lists("u", counts=[0])
    assert (got.names, got.counts, got.kinds, got.total) == ([], [0], [], 0)
    for must, wrong in {
        "names must have 0 to 4 rows, got 5": dict(names=["x"] * 5), "names must be a list, got str": dict(names="abc"),
        "names.1 must be text of 0 to 8 bytes, got 9 bytes": dict(names=["", "123456789"]),
        "counts.0 must be a whole number from 0 to 9, got 10": dict(counts=[10]), "kinds.0 must be one of log, bucket, got 'x'": dict(kinds=["x"]),
    }.items():
        with pytest.raises(rl.ArgumentError) as found:
            c.lists("u", **{"counts": [1], **wrong})
        assert found.value.problems == [must]
    with pytest.raises(rl.OutcomeUnknownError, match="result names must have at most 8 rows"):
        c.lists("u", counts=[1], names=["x"] * 4, copies=3)


def test_library_is_not_loaded_on_a_server_that_is_too_old(tmp_path):
    code = everything.LIBRARY.code()
    assert b" requires=redis-7.0,valkey-7.2\n" in code
    old = tmp_path / "everything.lua"
    old.write_bytes(code.replace(b"redis-7.0,valkey-7.2", b"redis-99.1,valkey-99.2"))
    library = replace(everything.LIBRARY, file=str(old), server="tooold_v2")
    why = f"cannot load tooold_v2: tooold_v2 {library.version} requires Redis 99.1 or Valkey 99.2 or later, and this is Redis [78]"
    client = everything.Client(server(), namespace="ns")
    client._library = library
    with pytest.raises(rl.NotLoadedError, match=why):
        client.lists("u", counts=[1])

    async def call():
        async with redis.asyncio.Redis(host=HOST, port=int(PORT)) as connection:
            client = everything.AsyncClient(connection, namespace="ns")
            client._library = library
            await client.lists("u", counts=[1])

    with pytest.raises(rl.NotLoadedError, match=why):
        asyncio.run(call())
    assert server().function_list("tooold*") == []


def test_servers_are_compared_as_in_go():
    assert len(SERVERS) > 10
    for v in SERVERS:
        assert _client._refusal("shop_v1 1.0.0", v["requires"], v["info"]) == v["refusal"], v["info"]


def test_rows_have_bounds():
    c = everything.Client(server(), namespace="ns")
    assert (len(c.few("u", rows=2, items=1).results), c.few("u", rows=3, items=2).numbers) == (2, [7, 7])
    for must, call in {
        "results must have 2 to 3 rows": lambda: c.few("u", rows=1, items=1), "numbers must have 1 to 2 rows": lambda: c.few("u", rows=2, items=0),
        "results must have 1 to 3 rows": lambda: c.short("u", rows=4),
    }.items():
        with pytest.raises(rl.OutcomeUnknownError, match=must):
            call()


def test_none_is_not_zero():
    c = everything.Client(server(), namespace="ns")
    none = c.maybe("u", which="none", rows=1)
    assert (none.found, none.holder, none.small, none.delta, none.score, none.wait, none.on, none.kind) == (False, *[None] * 7)
    assert [(row.name, row.number) for row in none.rows] == [(None, None)]
    zeros = c.maybe("u", which="zeros", rows=1)
    assert (zeros.holder, zeros.small, zeros.never_zero, zeros.large, zeros.delta, zeros.score) == ("", 0, 5, 0, -1, 0)
    assert (zeros.price, zeros.wait, zeros.since, zeros.on, zeros.kind) == (0, timedelta(0), None, False, everything.MaybeKind.LOG)
    values = c.maybe("u", which="values", rows=2)
    assert (values.holder, values.small, values.delta, values.score, values.on, values.kind) == ("ann", 9, -9, 0.25, True, everything.MaybeKind.BUCKET)
    assert [(row.name, row.number) for row in values.rows] == [("", 0), ("", 1)]


def test_bytes_and_json_come_back():
    c = everything.Client(server(), namespace="ns")
    rows = everything.BlobsRowsPack(everything.BlobsRows(data=b"\x00,;%", extra={"a": [1]}), everything.BlobsRows(data=b""))
    every = bytes(i * 37 % 256 for i in range(64))
    got = c.blobs("u", data=every, seal=b"\x00", payload={"a": "\u00e9<"}, order={"id": "o1"}, before=[None], note=0, parts=[b"", b"\xff"],
                  orders=["x", 1.5], rows=rows)
    assert (got.data, got.seal, got.payload, got.order, got.before, got.note) == (every, b"\x00", {"a": "\u00e9<"}, {"id": "o1"}, [None], 0)
    assert (got.parts, got.orders) == ([b"", b"\xff"], ["x", 1.5])
    assert [(row.data, row.extra) for row in got.rows] == [(b"\x00,;%", {"a": [1]}), (b"", None)]
    got = c.blobs("u", data=b"", payload=None, order=True)
    assert (got.data, got.seal, got.payload, got.order, got.before, got.note) == (b"", None, None, True, None, None)
    for wrong in (float("nan"), {1, 2}, "\ud800", "x" * 31, object()):
        with pytest.raises(rl.ArgumentError):
            c.blobs("u", data=b"", payload=wrong, order=True)
    with pytest.raises(rl.ReplyError, match="a json must be JSON"):
        c.blobs("u", data=b"", payload=0, order=True, wrong="broken")
    for text in (b"NaN", b"\xff", b"", b"{} {}", b'"\x00"'):
        with pytest.raises(rl.ReplyError):
            _wire.Reply(_wire.Function("x", "f", results=(_wire.Result(text=True),)), [0, text]).json()


def test_asyncio_echoes():
    async def run():
        r = redis.asyncio.Redis(host=HOST, port=int(PORT))
        try:
            return await everything.AsyncClient(r, namespace="ns").echo("user42", **FULL)
        finally:
            await r.close()

    assert asyncio.run(run()) == ECHOED


def test_groups_and_packs():
    c = everything.Client(server(), namespace="ns")
    got = c.rows(
        "u", before=5, after="end",
        limits=[
            everything.RowsLimits(name="minute", form=everything.RowsLimitsForm.SUM, window=MINUTE),
            everything.RowsLimits(name="odd: {x}", form=everything.RowsLimitsForm.LAST, window=MINUTE, cost=0),
        ],
        tiers=[everything.RowsTiers(), everything.RowsTiers(block=MINUTE)],
    )
    assert (got.total, got.after, [t.block for t in got.tiers]) == (9, "end", [timedelta(0), MINUTE])
    assert [row.log for row in got.limits] == [_wire.key_of("ns", "u", "log", n).decode() for n in ("minute", "odd: {x}")]
    items = everything.ItemPack(
        everything.Item(name="a,b;%", kind=everything.ItemKind.SUM, window=MINUTE, on=True, note=b"\xff", budget=Micros(0)),
    )
    pairs = everything.PacksPairsOfPack(everything.PacksPairsOf(left="l", right=1, third=2), everything.PacksPairsOf(left=";", right=0))
    packed = c.packs("u", before=0, items=items, items_of=["v"], pairs_of=pairs)
    assert [(i.name, i.note, i.cost, i.on) for i in packed.items] == [("a,b;%", "\udcff", 1, True)]
    assert packed.items[0].seen == _wire.key_of("ns", "v", "seen", "a,b;%").decode()
    assert [(p.left, p.right, p.third) for p in packed.pairs_of] == [("l", 1, 2), (";", 0, 0)]
    left = everything.SometimesPairsOfPack(everything.SometimesPairsOf(left="l"))
    noted = c.sometimes("u", number=1, note="x", note_of="w", others=["o"], pairs_of=left)
    assert [k.name for k in noted.keys] == ["ns:{u}:state", "ns:{w}:noted", "ns:{o}:state"]


def test_rows_are_packs_and_subjects_are_lists():
    c = everything.Client(server(), namespace="ns")
    item = everything.Item(name="a", kind=everything.ItemKind.SUM, window=MINUTE, on=True, note=b"", budget=Micros(0))
    pairs_of = everything.PacksPairsOfPack(everything.PacksPairsOf(left="l", right=1))
    for must, wrong in {
        "items must be of ItemPack, got list": dict(items=[item]), "items must be of ItemPack, got PacksPairsOfPack": dict(items=pairs_of),
        "items_of must be a list of subjects, got str": dict(items=everything.ItemPack(item), items_of="v"),
    }.items():
        with pytest.raises(rl.ArgumentError) as found:
            c.packs("u", before=0, pairs_of=pairs_of, **wrong)
        assert found.value.problems == [must]
    with pytest.raises(rl.ArgumentError, match="others must be a list of subjects, got str"):
        c.sometimes("u", number=1, note="x", note_of="w", others="o", pairs_of=None)


def test_errors_are_typed():
    c = everything.Client(server(), namespace="ns")
    with pytest.raises(rl.ArgumentError) as found:
        c.fail("", how="never")  # type: ignore[arg-type]
    assert len(found.value.problems) == 2
    with pytest.raises(rl.ArgumentError):
        c.fail("a\ud800", how=everything.FailHow.NOT)
    with pytest.raises(rl.CodeError) as declared:
        c.fail("e", how=everything.FailHow.DECLARED)
    assert declared.value.code == "RLBUSY"
    for how in (everything.FailHow.RUNTIME, everything.FailHow.COMMAND, everything.FailHow.NEGATIVE):
        with pytest.raises(rl.OutcomeUnknownError):
            c.fail("e", how=how)
    server().rpush("ns:{bad}:state", "x")
    with pytest.raises(rl.StateError) as state:
        c.fail("bad", how=everything.FailHow.RUNTIME)
    assert state.value.key == "ns:{bad}:state" and "bad" not in str(state.value)
    dead = everything.Client(redis.Redis(HOST, 1), max_attempts=2)
    with pytest.raises(rl.NotRunError):
        dead.fail("e", how=everything.FailHow.NOT)


def test_clients_and_options_that_make_no_sense_are_refused():
    one, other = server(), redis.asyncio.Redis(host=HOST, port=int(PORT))
    single = redis.asyncio.Redis(host=HOST, port=int(PORT), single_connection_client=True)
    for make, mine, wrong in (
        (ratelimit.Client, one, [other, redis.Redis(HOST, int(PORT), single_connection_client=True)]), (ratelimit.AsyncClient, other, [one, single]),
    ):
        pipelines = [one.pipeline(), one.pubsub(), other.pipeline(), other.pubsub()]
        for client in (*wrong, *pipelines, one.connection_pool, redis.Redis, "redis://127.0.0.1", None):
            with pytest.raises(TypeError, match="client of ratelimit: want a "):
                make(client)
        for count in (0, -1, 1.5, float("nan"), float("inf"), True, "3", None):
            with pytest.raises(ValueError, match="max_attempts must be a whole number of 1 or more"):
                make(mine, max_attempts=count)
        for load in (1, "false", None):
            with pytest.raises(TypeError, match="auto_load must be True or False"):
                make(mine, auto_load=load)
        for namespace in ("", "a b", b"ns", 5):
            with pytest.raises(ValueError, match="namespace must be"):
                make(mine, namespace=namespace)


def test_a_missing_library_is_loaded_unless_told_not_to():
    server().function_delete("everything_v2")
    with pytest.raises(rl.NotLoadedError):
        everything.Client(server(), auto_load=False).fail("e", how=everything.FailHow.NOT)
    c = everything.Client(server())
    threads = [threading.Thread(target=c.fail, args=("e",), kwargs={"how": everything.FailHow.NOT}) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert c.fail("e", how=everything.FailHow.NOT).number == 1


def remaining(namespace):
    return ratelimit.Client(server(), namespace=namespace).fixed_window_peek("u", limit=10, window=MINUTE).remaining


def test_a_call_that_may_have_run_is_never_sent_twice():
    lost = ratelimit.Client(through_proxy(), namespace="lose-reply")
    with pytest.raises(rl.OutcomeUnknownError):
        lost.fixed_window("u", limit=10, window=MINUTE)
    assert remaining("lose-reply") == 9


def test_asyncio_never_sends_twice_and_cancels_cleanly():
    async def run():
        r = redis.asyncio.Redis(
            host=HOST, port=PROXY_PORT, retry_on_error=[redis.ConnectionError, redis.TimeoutError], retry_on_timeout=True
        )
        try:
            with pytest.raises(rl.OutcomeUnknownError):
                await ratelimit.AsyncClient(r, namespace="lose-reply").fixed_window("a", limit=10, window=MINUTE)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(ratelimit.AsyncClient(r, namespace="hold-reply").fixed_window("a", limit=10, window=MINUTE), 0.2)
            return await ratelimit.AsyncClient(r, namespace="kept").fixed_window("a", limit=10, window=MINUTE)
        finally:
            await r.close()

    assert asyncio.run(run()).remaining == 9


def test_fifty_at_once_against_ten():
    allowed = []

    def hit(client):
        if client.fixed_window("many", limit=10, window=MINUTE).allowed:
            allowed.append(1)

    client = ratelimit.Client(server())
    threads = [threading.Thread(target=hit, args=(client,)) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(allowed) == 10


ANNOUNCED = "rlfunc:{deploy}:clients"


def records(service: str, count: int) -> list[str]:
    """Waits until as many records of a service are there, and returns them."""
    while True:
        found = [m.decode() for m in server().zrange(ANNOUNCED, 0, -1) if f" {service} ".encode() in m]
        if len(found) == count:
            return found
        time.sleep(0.005)


def test_a_client_announces_its_service_until_it_is_closed_in_database_0():
    for db in (0, 3):
        start = time.time()
        client = ratelimit.Client(redis.Redis(HOST, int(PORT), db=db, max_connections=1), announce="checkout")
        [member] = records("checkout", 1)
        found = re.fullmatch(rf"{ratelimit.LIBRARY.server}@{ratelimit.LIBRARY.version} checkout python (\d+) \S+:{os.getpid()}", member)
        assert found and abs(int(found[1]) / 1000 - start) < 20
        while server().ttl(ANNOUNCED) < 86_000:
            time.sleep(0.005)
        client.close()
        client.close()
        records("checkout", 0)
        assert not redis.Redis(HOST, int(PORT), db=3).exists(ANNOUNCED)
    ratelimit.Client(server()).close()  # without an announcement


def test_an_announcement_is_renewed_and_keeps_its_time_and_the_newest_50000(monkeypatch):
    monkeypatch.setattr(_announce, "_EVERY", 0.001)
    now = int(time.time() * 1000)
    fill = "for i = 1, 50002 do redis.call('ZADD', KEYS[1], ARGV[1] - i, 'shop_v1@1.0.0 old go 1 ' .. i) end"
    server().eval(fill, 1, ANNOUNCED, now)
    server().zadd(ANNOUNCED, {"shop_v1@1.0.0 yesterday go 1 x": now - 86_500_000})
    client = ratelimit.Client(server(), announce="renewed")
    [first] = records("renewed", 1)
    seen = server().zscore(ANNOUNCED, first)
    while server().zscore(ANNOUNCED, first) == seen:
        time.sleep(0.005)
    assert records("renewed", 1) == [first]
    while server().zcard(ANNOUNCED) != 50_000:
        time.sleep(0.005)
    records("yesterday", 0)
    client.close()
    server().delete(ANNOUNCED)


def test_an_announcement_that_fails_fails_no_call_and_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(_announce, "_EVERY", 0.001)
    server().execute_command("ACL", "SETUSER", "silent", "reset", "on", ">secret", "~*", "+@all", "-zadd")
    server().acl_log_reset()
    client = ratelimit.Client(redis.Redis(HOST, int(PORT), username="silent", password="secret"), announce="silent")
    while not server().acl_log() or server().acl_log()[0]["count"] < 3:
        time.sleep(0.005)
    assert client.gcra("silent", limit=2, period=MINUTE).allowed
    client.close()
    away = ratelimit.Client(redis.Redis(HOST, 1), announce="away")
    with pytest.raises(rl.NotRunError):
        away.gcra("u", limit=2, period=MINUTE)
    away.close()
    [first, second] = [r.getMessage() for r in caplog.records if r.name == "rlfunc_clients"]
    assert re.fullmatch(r"announce ratelimit_v\d+: .*'zadd'.*; until it succeeds, rlfunc retire does not see this process", first)
    assert "Connection refused" in second
    for wrong in ("", "a b", "a\n", "x" * 65, 5):
        for client in (ratelimit.Client, ratelimit.AsyncClient):
            with pytest.raises(ValueError, match="announce must be 1 to 64 of the characters"):
                client(server() if client is ratelimit.Client else redis.asyncio.Redis(), announce=wrong)


def test_a_coroutine_announces_until_it_is_closed_or_its_loop_ends():
    async def closed():
        over = redis.asyncio.Redis(host=HOST, port=int(PORT), db=3)
        client = ratelimit.AsyncClient(over, announce="tasks")
        await asyncio.to_thread(records, "tasks", 1)
        await client.close()
        await client.close()
        records("tasks", 0)
        await client.gcra("tasks", limit=2, period=MINUTE)  # announces nothing any more
        assert len(asyncio.all_tasks()) == 1
        await ratelimit.AsyncClient(over).close()
        await over.close()

    asyncio.run(closed())
    client = ratelimit.AsyncClient(redis.asyncio.Redis(host=HOST, port=int(PORT)), announce="loops")  # outside of a loop

    async def called():
        await client.gcra("loops", limit=2, period=MINUTE)
        await asyncio.to_thread(records, "loops", 1)
        await client._nodes._client.connection_pool.disconnect()

    for _ in range(2):
        asyncio.run(called())
        records("loops", 0)


def test_a_loop_that_is_closed_without_a_cancel_leaves_one_record_of_its_process():
    client = ratelimit.AsyncClient(redis.asyncio.Redis(host=HOST, port=int(PORT)), announce="closed")

    async def called():
        await client.gcra("closed", limit=2, period=MINUTE)
        while not client._announcer._record._member:
            await asyncio.sleep(0.005)
        found = await asyncio.to_thread(records, "closed", 1)
        await client._nodes._client.connection_pool.disconnect()
        return found

    loop = asyncio.new_event_loop()
    first = loop.run_until_complete(called())
    loop.close()  # as some servers do: the task never learns of it
    assert records("closed", 1) == first

    async def again():
        assert await called() == first
        await client.close()

    asyncio.run(again())
    records("closed", 0)


@pytest.mark.parametrize("closes", [True, False])
def test_an_announcement_may_end_at_any_of_its_steps(closes):
    async def run(steps):
        client = ratelimit.AsyncClient(redis.asyncio.Redis(host=HOST, port=int(PORT)), announce="steps")
        for _ in range(steps):
            await asyncio.sleep(0)
        if closes:
            await client.close()

    for steps in range(60):
        asyncio.run(asyncio.wait_for(run(steps), 30))
        records("steps", 0)


ENDS = """
import os, sys, time, redis
from rlfunc_clients import ratelimit
over = redis.Redis(sys.argv[1], int(sys.argv[2]))
client = ratelimit.Client(over, announce=sys.argv[3])
def seen(count):
    while len([m for m in over.zrange("rlfunc:{deploy}:clients", 0, -1) if sys.argv[3].encode() in m]) != count:
        time.sleep(0.005)
seen(1)
"""


# Three workers run until their parent has seen all four processes. Each of them reads from the pipe that the parent closes.
FORKS = """
r, w = os.pipe()
workers = []
def joined():
    seen(4)
    os.close(w)
    for each in workers:
        os.waitpid(each, 0)
    seen(1)
for _ in range(3):
    workers.append(os.fork())
    if workers[-1]: continue
    os.close(w)
"""

# The coroutines' client takes the place of the one that announced itself before.
COROUTINES = """
client.close()
seen(0)
import asyncio, redis.asyncio
client = ratelimit.AsyncClient(redis.asyncio.Redis(host=sys.argv[1], port=int(sys.argv[2])), announce=sys.argv[3])
async def works(until):
    await client.gcra("workers", limit=9, period=__import__("datetime").timedelta(minutes=1))
    await asyncio.to_thread(until)
"""


@pytest.mark.parametrize(
    "end, left",
    [
        ("", 0),
        ("sys.exit(3)", 0),
        ("os._exit(0)", 1),  # as kill does: it is seen for another 15 minutes
        (FORKS + "    os.read(r, 1)\n    break\nelse: joined()", 0),  # a server that forks its workers
        (COROUTINES + FORKS + "    asyncio.run(works(lambda: os.read(r, 1)))\n    break\nelse: asyncio.run(works(joined))", 0),
    ],
)
def test_an_announcement_ends_with_its_process_and_does_not_keep_it_alive(end, left):
    service = f"ends{abs(hash(end))}"
    subprocess.run([sys.executable, "-c", ENDS + end, HOST, PORT, service], timeout=60)
    records(service, left)
