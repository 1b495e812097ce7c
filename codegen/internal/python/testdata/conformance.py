"""Runs the vectors that all languages share with both clients, then what only Python has. REDIS is a server; PROXY stands before it and
loses replies; VECTORS and KEYS are the files."""

import asyncio
import dataclasses
import json
import os
import threading
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

import rlfunc_clients as rl
from rlfunc_clients import everything, ratelimit

HOST, PORT = os.environ["REDIS"].split(":")
PROXY = dict(port=int(os.environ["PROXY"].split(":")[1]), retry_on_error=[redis.ConnectionError, redis.TimeoutError], socket_timeout=5)
MINUTE = timedelta(minutes=1)
ERRORS = {
    "argument": rl.ArgumentError, "state": rl.StateError, "code": rl.CodeError, "reply": rl.ReplyError, "not run": rl.NotRunError,
    "no permission": rl.NoPermissionError, "unknown": rl.OutcomeUnknownError,
}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
server = redis.Redis(HOST, int(PORT))


def given(value, row=None):
    """Returns an argument of a vector; row is the class of a group's row."""
    if isinstance(value, list):
        return [row(**{k: given(v) for k, v in one.items()}) if isinstance(one, dict) else one for one in value]
    if not isinstance(value, dict):
        return value
    [(form, raw)] = value.items()
    return {"us": lambda: timedelta(microseconds=raw), "at": lambda: EPOCH + timedelta(microseconds=raw), "float": lambda: float(raw),
            "bytes": lambda: bytes.fromhex(raw), "repeat": lambda: raw[0] * raw[1]}[form]()


def plain(value):
    """Returns a result as vectors have it."""
    if dataclasses.is_dataclass(value):
        return {f.name.rstrip("_"): plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, datetime):
        return plain(value - EPOCH)
    return value.value if isinstance(value, Enum) else value or type(value or 0)() if value is None else value


def wanted(value):
    """Returns what a vector wants, with its texts."""
    if isinstance(value, list):
        return [wanted(one) for one in value]
    if isinstance(value, dict) and ("bytes" in value or "repeat" in value):
        text = given(value)
        return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    return {k: wanted(v) for k, v in value.items()} if isinstance(value, dict) else value


def row_of(function, name):
    """Returns the class of the rows of an argument."""
    kind = everything.Client.__mro__[1].__dict__[function]._parameters[name].annotation
    return getattr(everything, kind.removeprefix("Sequence[").removesuffix("]"), None)


def stub(vector):
    """Gives a function of the library the body that a vector has."""
    body = "redis.register_function{function_name = 'everything_v2_%s', callback = function() %s end, flags = {'no-writes'}}"
    code = "#!lua name=everything_v2\n" + body % (vector["call"], vector["server"])
    server.execute_command("FUNCTION", "LOAD", "REPLACE", code)


def check_vectors(call):
    for vector in json.loads(Path(os.environ["VECTORS"]).read_text()):
        if "server" in vector:
            stub(vector)
        args = {k: given(v, row_of(vector["call"], k)) for k, v in vector["args"].items()}
        try:
            got = plain(call(vector["call"], vector["subject"], args))
        except rl.CallError as error:
            assert type(error) is ERRORS.get(vector.get("error")) and vector.get("says", "") in str(error), (vector, repr(error))
            continue
        assert "want" in vector and got == wanted(vector["want"]), (vector, got)
    server.function_delete("everything_v2")


def in_asyncio(call):
    async def run():
        r = redis.asyncio.Redis(host=HOST, port=int(PORT), decode_responses=True)
        try:
            return await call(everything.AsyncClient(r, namespace="ns"))
        finally:
            await r.close()

    return asyncio.run(run())


def raises(kind, says, call):
    try:
        call()
    except kind as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}: {says}")


def check_keys():
    table = json.loads(Path(os.environ["KEYS"]).read_text())
    client = everything.Client(server, namespace="ns")
    for v in table["keys"]:
        got = client.pays(v["text"], payer=v["text"], payee=bytes.fromhex(v["bytes"]))
        assert got.same and got.to == v["key_of"].replace("}:log:", "}:account:"), v
    for text in [*table["no_bytes"], "", b"", None, 5]:
        raises(rl.ArgumentError, "everything.fail: ", lambda: client.fail(text, how="not"))
    for v in table["namespaces"]:
        if v["legal"]:
            everything.Client(server, namespace=v["text"])
        else:
            raises(ValueError, "namespace must be", lambda: everything.Client(server, namespace=v["text"]))


def check_arguments():
    limits = ratelimit.Client(server)
    raises(TypeError, "ratelimit.gcra: unknown argument window: did you mean period?", lambda: limits.gcra("u", limit=9, window=MINUTE))
    raises(TypeError, "unknown argument cots: did you mean cost?", lambda: limits.gcra("u", limit=9, period=MINUTE, cots=2))
    raises(TypeError, "missing", lambda: limits.gcra("u", limit=9))
    raises(TypeError, "ratelimit.gcra: missing argument period", lambda: limits.gcra("u", limit=9, period=None))
    raises(rl.ArgumentError, "period must be a timedelta, got int 60", lambda: limits.gcra("u", limit=9, period=60))
    raises(rl.ArgumentError, "period must be", lambda: limits.gcra("u", limit=9, period=timedelta(microseconds=60)))
    raises(rl.ArgumentError, "limit must be", lambda: limits.gcra("u", limit=MINUTE, period=MINUTE))
    client = everything.Client(server)
    late = dict(number=1, price=0, window=MINUTE, since=datetime(2026, 1, 1), on=False, note="", kind="log")
    raises(rl.ArgumentError, "since must be a datetime with a time zone", lambda: client.echo("u", **late))
    pairs = [everything.SometimesPairsOf(left="l")]
    raises(rl.ArgumentError, "others must be a list", lambda: client.sometimes("u", number=1, pairs_of=pairs, others="o"))
    raises(rl.ArgumentError, "pairs_of must be a list of rows", lambda: client.sometimes("u", number=1, pairs_of=["l"]))


def check_clients():
    other = redis.asyncio.Redis(host=HOST, port=int(PORT))
    for make, wrong in (
        (ratelimit.Client, [other, redis.Redis(HOST, int(PORT), single_connection_client=True)]),
        (ratelimit.AsyncClient, [server, redis.asyncio.Redis(single_connection_client=True)]),
    ):
        for client in (*wrong, server.pipeline(), other.pipeline(), server.pubsub(), server.connection_pool, "redis://127.0.0.1", None):
            raises(TypeError, "client of ratelimit: want a ", lambda: make(client))
    raises(rl.NotRunError, "", lambda: everything.Client(redis.Redis(HOST, 1)).fail("e", how="not"))
    assert everything.Client(server).library.identity == "everything_v2@2.3.4"


def check_loading():
    raises(rl.NotLoadedError, "rlfunc deploy", lambda: everything.Client(server, auto_load=False).fail("e", how="not"))
    client, got = everything.Client(server), []
    threads = [threading.Thread(target=lambda: got.append(client.fail("e", how="not").number)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [1] * 8
    stub({"call": "other", "server": "return 1"})
    raises(rl.NotLoadedError, "rlfunc deploy", lambda: everything.Client(server).fail("e", how="not"))
    server.function_delete("everything_v2")


def remaining(namespace):
    return ratelimit.Client(server, namespace=namespace).fixed_window("u", limit=10, window=MINUTE, cost=0).remaining


def check_that_nothing_is_sent_twice():
    lossy = redis.Redis(HOST, retry=Retry(NoBackoff(), 3), **PROXY)
    raises(rl.OutcomeUnknownError, "", lambda: ratelimit.Client(lossy, namespace="lose-reply").fixed_window("u", limit=10, window=MINUTE))
    assert remaining("lose-reply") == 9

    async def run():
        r = redis.asyncio.Redis(host=HOST, **PROXY)
        for namespace, error in (("lose-reply", rl.OutcomeUnknownError), ("hold-reply", asyncio.TimeoutError)):
            try:
                await asyncio.wait_for(ratelimit.AsyncClient(r, namespace=namespace).fixed_window("u", limit=10, window=MINUTE), 0.5)
            except error:
                continue
            raise AssertionError(namespace)
        kept = await ratelimit.AsyncClient(r, namespace="kept").fixed_window("u", limit=10, window=MINUTE)
        await r.close()
        return kept.remaining

    assert (asyncio.run(run()), remaining("lose-reply"), remaining("hold-reply")) == (9, 8, 9)


check_vectors(lambda name, subject, args: getattr(everything.Client(server, namespace="ns"), name)(subject, **args))
check_vectors(lambda name, subject, args: in_asyncio(lambda client: getattr(client, name)(subject, **args)))
check_keys()
check_arguments()
check_clients()
server.function_delete("everything_v2")
check_loading()
check_that_nothing_is_sent_twice()
