"""What generated clients run on: keys, words and replies, and a call that redis-py's connections carry once."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import re
import time
from dataclasses import dataclass, is_dataclass
from datetime import datetime, timedelta, timezone
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Concatenate, Coroutine, Generic, Iterator, NewType, ParamSpec, Sequence, TypeVar, Union
from typing import cast, get_args, get_origin, get_type_hints, overload

import redis.asyncio
import redis.asyncio.cluster
import redis.cluster
import redis.exceptions as rx

from .errors import ArgumentError, CallError, CodeError, NoPermissionError, NotLoadedError, NotRunError
from .errors import OutcomeUnknownError, ReplyError, StateError

Subject = Union[str, bytes]
"""What a key belongs to: a user, an address. A str is sent as UTF-8. Any bytes are safe."""

Text = Union[str, bytes]
"""Bytes, or a str that is sent as UTF-8. Bytes that are not UTF-8 come back as lone surrogates (surrogateescape)."""

Micros = NewType("Micros", int)
"""Millionths of any currency."""

P = ParamSpec("P")
R = TypeVar("R")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_PLAIN = re.compile(rb"[A-Za-z0-9_.@+/=-]{1,64}")
_NOT_PLAIN = re.compile(rb"[^A-Za-z0-9_.@+/=-]")


def tag(text: Text) -> bytes:
    """Returns the hash tag of a subject's keys: the subject if it is plain, else ~ and 128 bits of its SHA-256."""
    raw = word(text)
    return raw if _PLAIN.fullmatch(raw) else b"~" + hashlib.sha256(raw).hexdigest()[:32].encode()


def word(value: object) -> bytes:
    """Returns an argument as it is sent. Whether it may have this value is for the server to say."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return b"" if value is None else b"%d" % value
    if isinstance(value, float):
        value += 0.0  # no server reads -0.0
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else str(value).encode("utf-8", "surrogateescape")


def _duration(name: str, value: timedelta | None) -> int | None:
    if value is not None and not isinstance(value, timedelta):
        raise ValueError(f"{name} must be a timedelta, got {type(value).__name__} {value!r:.34}")
    return None if value is None else value // _MICROSECOND


def _moment(name: str, value: datetime | None) -> int | None:
    if value is not None and not (isinstance(value, datetime) and value.tzinfo):
        raise ValueError(f"{name} must be a datetime with a time zone, got {type(value).__name__} {value!r:.34}")
    return None if value is None else (value - _EPOCH) // _MICROSECOND


class Row:
    """A row of an argument."""

    of: Subject | None = None  # the subject of its keys, if it has any

    def _cells(self) -> list[object]:
        raise NotImplementedError

    def _parts(self) -> list[tuple[object, ...]]:
        return []  # of each key, what follows the tag


def _rows(name: str, given: Sequence[Row]) -> bytes:
    """Returns the one text that rows are sent as."""
    text = b""
    for row in given or ():
        if not isinstance(row, Row):
            raise ValueError(f"{name} must be a list of rows, got {type(row).__name__} in it")
        text += b",".join(_NOT_PLAIN.sub(lambda m: b"%%%02x" % m[0][0], word(c)) for c in _given(row._cells())) + b";"
    return text


def _given(values: list[object]) -> list[object]:
    """Returns values without those that are omitted at the end."""
    while values and values[-1] is None:
        values = values[:-1]
    return values


@dataclass(frozen=True)
class Library:
    """A library's names. Its code lies beside this file."""

    name: str
    version: str
    server: str

    @property
    def identity(self) -> str:
        """What a connection tells `rlfunc plan`, `deploy` and `retire` about its program: "ratelimit_v1@1.2.0". Several are joined
        by "+". redis-py 5 and newer take it as lib_name."""
        return f"{self.server}@{self.version}"

    def code(self) -> bytes:
        return (Path(__file__).parent / f"{self.name}.lua").read_bytes().replace(b"\r\n", b"\n")  # git may have checked it out with CRLF


@dataclass(frozen=True)
class Call(Generic[R]):
    """A call of a function: what it is sent as, and the class of its result."""

    name: str
    result: type[R]
    keys: list[bytes]
    args: list[object]
    read_only: bool = False
    codes: tuple[str, ...] = ()  # those that its header declares beside RLARG and RLSTATE

    @functools.cached_property
    def words(self) -> list[bytes]:
        return [b"%d" % len(self.keys), *self.keys, *map(word, _given(self.args))]


class Function(Generic[P, R]):
    """A method that sends the call which it decorates, and returns its result: at once in a Client, to be awaited in an AsyncClient."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[R]]) -> None:
        self._build = build
        self._parameters = dict(list(inspect.signature(build).parameters.items())[1:])
        functools.update_wrapper(self, build)

    @overload
    def __get__(self, client: SyncClient, owner: Any = None) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: AsyncioClient, owner: Any = None) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        return self if client is None else functools.partial(self._call, client)

    def _call(self, client: Base, *args: P.args, **kwargs: P.kwargs) -> Any:
        function = f"{client.library.name}.{self._build.__name__}"
        for name in kwargs.keys() - self._parameters.keys():
            left = [p for p in self._parameters if p not in kwargs]
            missing = [p for p in left[len(args):] if self._parameters[p].default is inspect.Parameter.empty]
            meant = " or ".join(get_close_matches(name, left) or missing or left)
            raise TypeError(f"{function}: unknown argument {name}: did you mean {meant}?")
        for name, p in self._parameters.items():
            if p.default is inspect.Parameter.empty and kwargs.get(name, "") is None:
                raise TypeError(f"{function}: missing argument {name}: it is None")
        try:
            call = self._build(client, *args, **kwargs)
            call.words
        except ValueError as wrong:
            raise ArgumentError(function, str(wrong)) from wrong
        return client._run(client._call(function, call))


@functools.lru_cache(maxsize=None)
def _fields(of: type) -> list[tuple[str, Any]]:
    return list(get_type_hints(of).items())


def read(kind: Any, words: Iterator[Any], at: str = "") -> Any:
    """Reads a result of a type, as a field of a dataclass has it, from the words of a reply. docs/reference/wire.md says what is sent for each."""
    if is_dataclass(kind):  # more words than it has fields are a newer library's
        return cast(Any, kind)(*[read(k, words, f"{at}.{name}" if at else name) for name, k in _fields(cast(type, kind))])
    sent: Any = next(words, None)

    def need(ok: bool, must: str) -> None:
        if not ok:
            got = f"text of {len(sent)} bytes" if isinstance(sent, bytes) else "nothing" if sent is None else f"{sent!r:.34}"
            raise ValueError(f"{at} must be {must}, got {got}; the server's library may differ from this client's")

    if get_origin(kind) is list:
        need(type(sent) is int and sent >= 0, "a number of rows")
        width = read(int, words, at) if sent else 0
        return [read(get_args(kind)[0], iter(list(islice(words, width))), f"{at}.{i}") for i in range(sent)]
    if kind in (str, float) or isinstance(kind, type) and issubclass(kind, Enum):
        need(isinstance(sent, bytes), "text")
        text = sent.decode("utf-8", "surrogateescape")
        try:
            return kind(text)
        except ValueError:
            need(False, "a number" if kind is float else "one of " + ", ".join(w.value for w in kind))
    need(type(sent) is int, "a whole number")
    if kind is bool:
        need(sent in (0, 1), "0 or 1")
        return sent == 1
    if kind is timedelta:
        return timedelta(microseconds=sent)
    if datetime in get_args(kind):
        return _EPOCH + timedelta(microseconds=sent) if sent else None
    return sent


class _Failed(Exception):
    """What redis-py raised, and whether the command may have reached the server."""

    def __init__(self, cause: Exception, sent: bool) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.cause, self.sent = cause, sent
        self.reply = ""  # the server's whole error, of which redis-py drops some codes
        for kind in type(cause).__mro__:
            if kind.__name__ in _DROPPED:
                self.reply = f"{_DROPPED[kind.__name__]} {cause}"
                return
        if isinstance(cause, rx.ResponseError):
            self.reply = str(cause) if re.match("[A-Z][A-Z0-9_]*( |$)", str(cause)) else f"ERR {cause}"


_DROPPED = {
    "BusyLoadingError": "LOADING", "ReadOnlyError": "READONLY", "NoPermissionError": "NOPERM", "AuthenticationError": "NOAUTH",
    "MovedError": "MOVED", "AskError": "ASK", "TryAgainError": "TRYAGAIN", "ClusterCrossSlotError": "CROSSSLOT",
    "MasterDownError": "MASTERDOWN", "ClusterDownError": "CLUSTERDOWN", "OutOfMemoryError": "OOM",
}
_DENIED = ("NOPERM", "NOAUTH", "WRONGPASS", "DENIED")
_REDIRECTS = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN")
# What Redis answers before it starts a function.
_REFUSED = (*_REDIRECTS, "READONLY", "LOADING", "MASTERDOWN", "BUSY", "OOM", "NOREPLICAS", "MISCONF", "CROSSSLOT")
_ATTEMPTS = 6  # of a call that a cluster redirects

# Before redis-py 5.3 a pool requires the name of a command, and later it warns of one.
_named = inspect.signature(redis.ConnectionPool.get_connection).parameters.get("command_name")
_FOR = ("FCALL",) if _named is not None and _named.default is inspect.Parameter.empty else ()


async def _done(made: Any) -> Any:
    """Returns what redis-py returned, which its asyncio clients let wait."""
    return await made if hasattr(made, "__await__") else made


class Base:
    _takes: tuple[type, ...] = ()
    _sleep: Callable[[float], Any]

    def __init__(self, client: Any, library: Library, namespace: str | None, auto_load: bool) -> None:
        got, one = type(client), getattr(client, "connection", None) or getattr(client, "single_connection_client", False)
        if not isinstance(client, self._takes) or one or got.__name__.endswith("Pipeline"):
            want = " or ".join(f"{t.__module__.rpartition('.')[0]}.{t.__name__}" for t in self._takes)
            raise TypeError(f"client of {library.name}: want a {want} with a pool, got {got.__module__}.{got.__name__}")
        self.library = library
        self._namespace = "rl" if namespace is None else namespace
        if not isinstance(self._namespace, str) or not re.fullmatch("[A-Za-z0-9_.-]{1,64}", self._namespace):
            raise ValueError(f"namespace must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got {namespace!r:.34}")
        self._redis = client
        self._clustered = hasattr(client, "nodes_manager")
        self._auto_load = auto_load
        self._load_from = self._refresh_from = 0.0

    def _key(self, subject: Subject, suffix: str | Enum, *parts: object) -> bytes:
        """Returns `<namespace>:{<tag>}:<suffix>`, with `:<part>` for each part that is given."""
        if not isinstance(subject, (str, bytes)) or not subject:
            raise ValueError(f"a subject must be a str or bytes and not be empty, got {subject!r:.34}")
        key = b"%s:{%s}:%s" % (self._namespace.encode(), tag(subject), word(suffix))
        for part in parts:
            if isinstance(part, timedelta):
                part = part // _MICROSECOND
            if part:
                key += b":" + tag(word(part))
        return key

    def _keys(self, name: str, subjects: Sequence[Subject], suffix: str) -> list[bytes]:
        if isinstance(subjects, (str, bytes)):
            raise ValueError(f"{name} must be a list of subjects")
        return [self._key(s, suffix) for s in subjects or ()]

    def _row_keys(self, subject: Subject, given: Sequence[Row]) -> list[bytes]:
        each = (row for row in given or () if isinstance(row, Row))  # _rows() rejects others
        return [self._key(subject if row.of is None else row.of, *cast(Any, parts)) for row in each for parts in row._parts()]

    async def _call(self, function: str, call: Call[R]) -> R:
        command = [b"FCALL_RO" if call.read_only else b"FCALL", f"{self.library.server}_{call.name}".encode(), *call.words]
        key, to, loaded, attempts = call.keys[0] if call.keys else b"", None, False, 0
        while True:
            try:
                sent = await self._send(command, key, to)
                break
            except _Failed as failed:
                error = self._explain(function, call, failed)
                if isinstance(error, NotLoadedError) and self._auto_load and not loaded and time.monotonic() >= self._load_from:
                    loaded = True
                    await self._load(function, key, to)
                    continue
                if loaded and isinstance(error, NotLoadedError):
                    self._load_from = time.monotonic() + 1  # no load for each call of what a load does not help
                again = error.code in _REDIRECTS or not failed.reply and not failed.sent
                to, attempts = failed.cause if isinstance(failed.cause, rx.AskError) else None, attempts + 1
                if self._clustered and (again or not failed.reply):
                    await self._refresh()
                if not (self._clustered and again and attempts < _ATTEMPTS):
                    raise error from failed.cause
                await _done(self._sleep(0.005 * 2**attempts))
        try:
            return cast(R, read(call.result, iter(sent if isinstance(sent, list) else [sent])))
        except (ValueError, OverflowError) as wrong:
            raise ReplyError(function, str(wrong)) from None

    async def _load(self, function: str, key: bytes, to: Any) -> None:
        try:
            await self._send([b"FUNCTION", b"LOAD", self.library.code()], key, to)
        except _Failed as failed:
            # After ERR the library may be there, and after a lost reply it may have been loaded: the next call finds out.
            if failed.reply and not failed.reply.startswith("ERR "):
                raise NotLoadedError(function, f"cannot load {self.library.server}: {failed.reply}") from failed.cause

    async def _send(self, command: list[bytes], key: bytes, to: Any) -> Any:
        """Sends a command once. redis-py's execute_command may send it again: as its Retry says, and in a cluster of redis-py 4 always."""
        sent = False
        try:
            pool = await _done(self._pool(key, to))
            conn = await _done(pool.get_connection(*_FOR))
            try:
                await _done(conn.connect())
                await _done(conn.check_health())
                if type(to) is rx.AskError:
                    await _done(conn.send_command("ASKING", check_health=False))
                    await _done(conn.read_response())
                sent = True
                await _done(conn.send_command(*command, check_health=False))
                return await _done(conn.read_response(disable_decoding=True))
            finally:
                await _done(pool.release(conn))
        except (rx.RedisError, rx.RedisClusterException, OSError, asyncio.TimeoutError) as cause:
            raise _Failed(cause, sent) from cause

    def _node(self, key: bytes, to: Any) -> Any:
        node = self._redis.get_node(to.host, to.port) if to else None
        return node or self._redis.get_node_from_key(key)

    async def _refresh(self) -> None:
        """Reads again which node has which slots, at most once a second. If no node answers, the old map stays."""
        if time.monotonic() < self._refresh_from:
            return
        self._refresh_from = time.monotonic() + 1
        try:
            await _done(self._redis.nodes_manager.initialize())
        except (rx.RedisError, rx.RedisClusterException, OSError, asyncio.TimeoutError):
            pass

    def _explain(self, function: str, call: Call[R], failed: _Failed) -> CallError:
        """Returns what a failure proves."""
        text = failed.reply or str(failed)
        code, _, rest = failed.reply.partition(" ")
        if code == "RLARG":
            if rest.startswith(f"{call.name} must be called with "):
                rest += f"; {self.library.server} on the server is not of this client's version: update the service, or run `rlfunc deploy`"
            return ArgumentError(function, rest, code)
        if code == "RLSTATE":
            return StateError(function, rest.partition(": ")[0], rest.partition(": ")[2])
        if code in call.codes:
            return CodeError(function, f"{code} {rest}".strip(), code)
        if not (" script: " in text or "user_function:" in text):
            if text == "ERR Function not found":
                why = f"{self.library.server} is not loaded on this server, or in a version without this function; run `rlfunc deploy`"
                return NotLoadedError(function, why, code)
            if code in _DENIED:
                return NoPermissionError(function, text + "; `rlfunc acl service` prints what the user needs", code)
            if code in _REFUSED or text.startswith("ERR unknown command"):
                return NotRunError(function, text.split(",")[0], code)  # behind a comma the server quotes arguments
        if call.read_only or not failed.sent:
            return NotRunError(function, text, code)
        return OutcomeUnknownError(function, text, code)

    def _pool(self, key: bytes, to: Any) -> Any:
        raise NotImplementedError

    def _run(self, call: Coroutine[Any, Any, R]) -> Any:
        raise NotImplementedError


class SyncClient(Base):
    """Calls one library over a redis.Redis or redis.RedisCluster. Threads may share it if they may share that."""

    _takes = (redis.Redis, redis.RedisCluster)
    _sleep = staticmethod(time.sleep)

    def _pool(self, key: bytes, to: Any) -> Any:
        return self._redis.get_redis_connection(self._node(key, to)).connection_pool if self._clustered else self._redis.connection_pool

    def _run(self, call: Coroutine[Any, Any, R]) -> R:
        try:
            call.send(None)  # nothing in it waits
        except StopIteration as end:
            return cast(R, end.value)
        raise AssertionError


class AsyncioClient(Base):
    """Calls one library over a redis.asyncio.Redis or RedisCluster. Tasks of one event loop may share it."""

    _takes = (redis.asyncio.Redis, redis.asyncio.RedisCluster)
    _sleep = staticmethod(asyncio.sleep)

    async def _pool(self, key: bytes, to: Any) -> Any:
        if not self._clustered:
            return self._redis.connection_pool
        await self._redis.initialize()  # does nothing after the first time
        return _NodePool(self._node(key, to))

    def _run(self, call: Coroutine[Any, Any, R]) -> Coroutine[Any, Any, R]:
        return call


class _NodePool:
    """Has the methods of a connection pool for a node of redis.asyncio.RedisCluster."""

    def __init__(self, node: Any) -> None:
        self.release = node.release if hasattr(node, "release") else node._free.append  # redis-py 4
        self.get_connection = lambda *_: node.acquire_connection()
