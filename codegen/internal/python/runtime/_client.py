"""Sends a call at most once if it may have run, over redis-py, and loads a missing library."""

from __future__ import annotations

import asyncio
import inspect
import random
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import redis.asyncio.client
import redis.asyncio.cluster
import redis.client
import redis.cluster
import redis.exceptions as rx

from ._announce import KEY, Announcer, AsyncAnnouncer, AsyncOwnConnection, OwnConnection, Record
from .errors import ArgumentError, CallError, CodeError, NotLoadedError, NotRunError, OutcomeUnknownError, StateError
from ._nodes import AsyncNodes, Nodes, Place, Redirect, redirect_of
from ._wire import Args, Function, Reply, check_name, to_bytes

_LOAD_INTERVAL = 1.0  # least seconds between two loads of a server by one client

# Before redis-py 5.3 a pool requires the name of a command, and later it warns of one.
_named = inspect.signature(redis.ConnectionPool.get_connection).parameters.get("command_name")
_FOR = ("FCALL",) if _named is not None and _named.default is inspect.Parameter.empty else ()


class RedisClient(Protocol):
    """What a client needs of redis.Redis, redis.RedisCluster, and theirs of redis.asyncio."""

    def execute_command(self, *args: Any, **options: Any) -> Any: ...


@dataclass(frozen=True)
class Library:
    """A library's names, and its code for auto-load."""

    name: str
    version: str
    server: str
    file: str

    def code(self) -> bytes:
        # Git may have checked it out with CRLF.
        return (Path(__file__).parent / self.file).read_bytes().replace(b"\r\n", b"\n")


# Codes that Redis answers before it starts a function. Those that are True may succeed soon.
_REJECTED = {
    "MOVED": True, "ASK": True, "TRYAGAIN": True, "CLUSTERDOWN": True, "READONLY": True, "LOADING": True, "MASTERDOWN": True,
    "BUSY": True, "OOM": False, "NOREPLICAS": False, "MISCONF": False, "CROSSSLOT": False, "NOPERM": False, "NOAUTH": False,
    "WRONGPASS": False, "DENIED": False,
}
_NOT_FOUND = "ERR Function not found"
_INSIDE = (" script: ", "user_function:")
_CODE = re.compile(r"[A-Z][A-Z0-9_]*( |$)")
_REQUIRES = re.compile(rb"^-- rlfunc: .* requires=(\S+)", re.M)
# Each has its version in a field of INFO. Redis is last: the others have a redis_version too, for old clients.
_PRODUCTS = ("Valkey", "Dragonfly", "Kvrocks", "Garnet", "Redis")


def _identify(info: str) -> tuple[str, str]:
    """Returns a server's product and version by INFO's text. Both are empty if it has no version."""
    field = dict(line.strip().partition(":")[::2] for line in info.split("\n"))
    for product in _PRODUCTS:
        if version := field.get(product.lower() + "_version"):
            return ("embedded" if field.get("rlfunc_embedded") else product), version
    return "", ""


def _numbers(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in (version.split(".") + ["", ""])[:3]]


def _refusal(library: str, required: str, info: str) -> str:
    """Returns why a library does not run on a server and what to do, or an empty text if it does."""
    product, version = _identify(info)
    servers = [one.split("-") for one in required.split(",")]
    if product == "embedded" or any(name.title() == product and _numbers(version) >= _numbers(least) for name, least in servers):
        return ""
    wanted = " or ".join(f"{name.title()} {least}" for name, least in servers)
    this = f"{product} {version}" if product else "a server of unknown version"
    return f"{library} requires {wanted} or later, and this is {this}; upgrade the server"


def _reply_text(error: Exception) -> str | None:
    """Returns the server's whole error, of which redis-py drops some codes. None if the error is not a reply."""
    text = str(error)
    for kind, code in (
        (rx.BusyLoadingError, "LOADING"), (rx.ReadOnlyError, "READONLY"), (rx.NoScriptError, "NOSCRIPT"),
        (rx.NoPermissionError, "NOPERM"), (rx.ExecAbortError, "EXECABORT"), (rx.AuthenticationError, "NOAUTH"),
        (rx.MovedError, "MOVED"), (rx.AskError, "ASK"), (rx.TryAgainError, "TRYAGAIN"), (rx.ClusterCrossSlotError, "CROSSSLOT"),
        (rx.MasterDownError, "MASTERDOWN"), (rx.ClusterDownError, "CLUSTERDOWN"),
    ):
        if isinstance(error, kind):
            return f"{code} {text}"
    if isinstance(error, rx.ConnectionError) and text == "max number of clients reached":
        return "ERR " + text
    if not isinstance(error, rx.ResponseError):
        return None
    return text if _CODE.match(text) else "ERR " + text


_DIFFERS = "on the server is newer than this client: update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`"


class _Lost(Exception):
    """The connection failed. sent reports whether the call may have reached the server."""

    def __init__(self, cause: BaseException, sent: bool) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.sent = sent


def _classify(fn: Function, error: Exception) -> tuple[CallError, bool]:
    """Returns what a failure proves, and whether the call may be sent again."""
    name = str(fn)
    if isinstance(error, _Lost):
        if not error.sent:
            return NotRunError(name, str(error)), True
        if fn.read_only:
            return NotRunError(name, str(error)), True
        return OutcomeUnknownError(name, str(error)), False
    text = _reply_text(error)
    if text is None:
        return OutcomeUnknownError(name, str(error)), False
    code, _, rest = text.partition(" ")
    if code == "RLARG":
        if rest.startswith(f"{fn.name} must be called with "):
            rest += f"; {fn.library} {_DIFFERS}"
        return ArgumentError(name, [rest]), False
    if code == "RLSTATE":
        key, _, problem = rest.partition(": ")
        return StateError(name, key, problem or "unreadable"), False
    if code in fn.codes:
        return CodeError(name, code, rest), False
    if any(mark in text for mark in _INSIDE):
        return OutcomeUnknownError(name, text, code), False
    if text == _NOT_FOUND:
        return NotLoadedError(name, f"{fn.library} lacks the function on this server; run `rlfunc deploy`"), False
    if code in _REJECTED:
        return NotRunError(name, text, code), _REJECTED[code]
    if text == "ERR max number of clients reached" or text.startswith("ERR unknown command"):
        return NotRunError(name, text.split(",")[0], code), text.startswith("ERR max")
    return OutcomeUnknownError(name, text, code), False


# redis-py makes them subclasses of its clients, but a call in one would run at once.
_PIPELINES = (redis.client.Pipeline, redis.cluster.ClusterPipeline, redis.asyncio.client.Pipeline, redis.asyncio.cluster.ClusterPipeline)


class _Base:
    _takes: tuple[type, ...] = ()
    _want = ""

    def __init__(
        self, client: RedisClient, library: Library, namespace: str | None, max_attempts: int, auto_load: bool, announce: str | None
    ) -> None:
        if not isinstance(client, self._takes) or isinstance(client, _PIPELINES):
            got = type(client)
            raise TypeError(f"client of {library.name}: want {self._want}, got {got.__module__}.{got.__qualname__}")
        if getattr(client, "connection", None) is not None or getattr(client, "single_connection_client", False):
            raise TypeError(f"client of {library.name}: want a client with a pool, got one with single_connection_client")
        self._library = library
        self._namespace = library.name if namespace is None else namespace
        check_name("namespace", self._namespace)
        if announce is not None:
            check_name("announce", announce)
        if type(max_attempts) is not int or max_attempts < 1:
            raise ValueError(f"client of {library.name}: max_attempts must be a whole number of 1 or more, got {max_attempts!r}")
        if type(auto_load) is not bool:
            raise TypeError(f"client of {library.name}: auto_load must be True or False, got {auto_load!r}")
        self._max_attempts = max_attempts
        self._auto_load = auto_load
        self._service = announce
        self._loaded_at: dict[str, float] = {}  # by server

    @property
    def library(self) -> Library:
        """The library that this client calls."""
        return self._library

    def _record(self) -> Record:
        return Record(self._library.server, self._library.version, str(self._service))

    def _start(self, fn: Function) -> Args:
        return Args(fn, self._namespace)

    def _command(self, a: Args) -> list[bytes]:
        words = a.words()
        assert isinstance(a.function, Function)
        verb = b"FCALL_RO" if a.function.read_only else b"FCALL"
        return [verb, to_bytes(f"{self._library.server}_{a.function.name}"), *words]

    def _may_load(self, place: Place) -> bool:
        return time.monotonic() - self._loaded_at.get(place.name, -_LOAD_INTERVAL) >= _LOAD_INTERVAL

    def _still_missing(self, fn: Function) -> NotLoadedError:
        return NotLoadedError(
            str(fn),
            f"the server lacks the function even after a load: it holds another version of {self._library.server}, "
            "or a node without it answers; a client never replaces a library: run `rlfunc deploy`",
        )

    def _refuse_old(self, fn: Function, required: bytes, info: Any) -> None:
        text = info.decode(errors="replace") if isinstance(info, bytes) else ""
        why = _refusal(f"{self._library.server} {self._library.version}", required.decode(), text)
        if why:
            raise NotLoadedError(str(fn), f"cannot load {self._library.server}: {why}")

    def _load_failed(self, fn: Function, error: Exception) -> NotLoadedError | None:
        """Returns None if the library may be there: another client loaded it, or the answer was lost."""
        text = _reply_text(error)
        if text is None or text.startswith("ERR "):
            return None
        return NotLoadedError(str(fn), f"cannot load {self._library.server}: {text}")


def _pause(attempt: int) -> float:
    return 0.01 * 2.0 ** min(attempt - 1, 4) * random.uniform(0.5, 1)


class SyncClient(_Base):
    """Calls one library over a redis.Redis or redis.RedisCluster. Safe for concurrent use by threads if that is."""

    _takes = (redis.Redis, redis.RedisCluster)
    _want = "a redis.Redis or redis.RedisCluster (AsyncClient takes those of redis.asyncio)"

    def __init__(
        self, client: RedisClient, library: Library, namespace: str | None, max_attempts: int, auto_load: bool, announce: str | None
    ) -> None:
        super().__init__(client, library, namespace, max_attempts, auto_load, announce)
        self._nodes = Nodes(client)
        self._loading = threading.Lock()
        self._announcer = None if announce is None else Announcer(self._record, self._tell)

    def close(self) -> None:
        """Ends the announcement, if there is one. The Redis client stays open."""
        if self._announcer is not None:
            self._announcer.close()

    def _tell(self, record: Record, ends: bool, redirect: Redirect | None = None) -> None:
        """Renews or withdraws an announcement. The slot may have moved since the last one, so it follows one redirect."""
        try:
            place = self._place(KEY, redirect)
            place = replace(place, pool=OwnConnection(place.pool))
            try:
                for command in record.commands(None if ends else self._send(place, [b"TIME"])):
                    self._send(place, command)
            finally:
                place.pool.close()
        except (_Lost, rx.RedisError) as cause:
            self._nodes.refresh()
            other = redirect_of(cause)
            if other is None or redirect is not None:
                raise
            self._tell(record, ends, other)

    def _call(self, a: Args) -> Reply:
        command = self._command(a)
        fn = a.function
        assert isinstance(fn, Function)
        attempt, loaded, redirect = 0, False, None
        while True:
            attempt += 1
            try:
                place = self._place(command[3], redirect)
                sent = self._send(place, command)
            except (_Lost, rx.RedisError) as cause:
                error, again = _classify(fn, cause)
                if isinstance(error, NotLoadedError) and not loaded and self._auto_load:
                    loaded, attempt = True, attempt - 1
                    self._load(fn, place)
                    continue
                redirect = redirect_of(cause)
                if (again or isinstance(cause, _Lost)) and (redirect is None or not redirect.asking):
                    self._nodes.refresh()
                if loaded and isinstance(error, NotLoadedError):
                    error = self._still_missing(fn)
                if not again or attempt >= self._max_attempts:
                    raise error from cause
                time.sleep(_pause(attempt))
                continue
            return Reply(fn, sent)

    def _place(self, key: bytes, redirect: Redirect | None) -> Place:
        try:
            return self._nodes.place(key, redirect)
        except (rx.RedisClusterException, rx.RedisError, OSError) as cause:
            raise _Lost(cause, sent=False) from cause

    def _load(self, fn: Function, place: Place) -> None:
        with self._loading:
            if not self._may_load(place):
                return  # another thread loaded it meanwhile
            place, code = replace(place, asking=False), self._library.code()
            try:
                if required := _REQUIRES.search(code):
                    with suppress(_Lost, rx.RedisError):  # the user may not run INFO
                        self._refuse_old(fn, required[1], self._send(place, [b"INFO", b"server"]))
                self._send(place, [b"FUNCTION", b"LOAD", code])
            except (_Lost, rx.RedisError) as cause:
                failed = self._load_failed(fn, cause)
                if failed is not None:
                    raise failed from cause
            finally:
                self._loaded_at[place.name] = time.monotonic()

    def _send(self, place: Place, command: list[bytes]) -> Any:
        """Sends a command once. redis-py's execute_command would send it again as retry_on_error and Retry say."""
        try:
            conn = place.pool.get_connection(*_FOR)
        except (rx.RedisError, OSError) as cause:
            raise _Lost(cause, sent=False) from cause
        try:
            try:
                conn.connect()
                conn.check_health()
                if place.asking:
                    conn.send_command("ASKING", check_health=False)
                    conn.read_response()
            except (rx.ConnectionError, rx.TimeoutError, OSError) as cause:
                raise _Lost(cause, sent=False) from cause
            try:
                conn.send_command(*command, check_health=False)
                return conn.read_response(disable_decoding=True)
            except (rx.ConnectionError, rx.TimeoutError, rx.InvalidResponse, OSError) as cause:
                if _reply_text(cause) is not None:
                    raise
                conn.disconnect()
                raise _Lost(cause, sent=True) from cause
        finally:
            place.pool.release(conn)


class AsyncioClient(_Base):
    """Calls one library over a client of redis.asyncio. Safe for concurrent use by tasks of one event loop."""

    _takes = (redis.asyncio.Redis, redis.asyncio.RedisCluster)
    _want = "a redis.asyncio.Redis or redis.asyncio.RedisCluster (Client takes those of redis)"

    def __init__(
        self, client: RedisClient, library: Library, namespace: str | None, max_attempts: int, auto_load: bool, announce: str | None
    ) -> None:
        super().__init__(client, library, namespace, max_attempts, auto_load, announce)
        self._nodes = AsyncNodes(client)
        self._loading = asyncio.Lock()
        self._announcer = None if announce is None else AsyncAnnouncer(self._record, self._tell)

    async def close(self) -> None:
        """Ends the announcement, if there is one. The Redis client stays open."""
        if self._announcer is not None:
            await self._announcer.close()

    async def _tell(self, record: Record, ends: bool, redirect: Redirect | None = None) -> None:
        """Renews or withdraws an announcement. The slot may have moved since the last one, so it follows one redirect."""
        try:
            place = await self._place(KEY, redirect)
            place = replace(place, pool=AsyncOwnConnection(place.pool))
            try:
                for command in record.commands(None if ends else await self._send(place, [b"TIME"])):
                    await self._send(place, command)
            finally:
                await place.pool.close()
        except (_Lost, rx.RedisError) as cause:
            await self._nodes.refresh()
            other = redirect_of(cause)
            if other is None or redirect is not None:
                raise
            await self._tell(record, ends, other)

    async def _call(self, a: Args) -> Reply:
        if self._announcer is not None:
            self._announcer.start()
        command = self._command(a)
        fn = a.function
        assert isinstance(fn, Function)
        attempt, loaded, redirect = 0, False, None
        while True:
            attempt += 1
            try:
                place = await self._place(command[3], redirect)
                sent = await self._send(place, command)
            except (_Lost, rx.RedisError) as cause:
                error, again = _classify(fn, cause)
                if isinstance(error, NotLoadedError) and not loaded and self._auto_load:
                    loaded, attempt = True, attempt - 1
                    await self._load(fn, place)
                    continue
                redirect = redirect_of(cause)
                if (again or isinstance(cause, _Lost)) and (redirect is None or not redirect.asking):
                    await self._nodes.refresh()
                if loaded and isinstance(error, NotLoadedError):
                    error = self._still_missing(fn)
                if not again or attempt >= self._max_attempts:
                    raise error from cause
                await asyncio.sleep(_pause(attempt))
                continue
            return Reply(fn, sent)

    async def _place(self, key: bytes, redirect: Redirect | None) -> Place:
        try:
            return await self._nodes.place(key, redirect)
        except (rx.RedisClusterException, rx.RedisError, OSError, asyncio.TimeoutError) as cause:
            raise _Lost(cause, sent=False) from cause

    async def _load(self, fn: Function, place: Place) -> None:
        async with self._loading:
            if not self._may_load(place):
                return  # another task loaded it meanwhile
            place, code = replace(place, asking=False), self._library.code()
            try:
                if required := _REQUIRES.search(code):
                    with suppress(_Lost, rx.RedisError):  # the user may not run INFO
                        self._refuse_old(fn, required[1], await self._send(place, [b"INFO", b"server"]))
                await self._send(place, [b"FUNCTION", b"LOAD", code])
            except (_Lost, rx.RedisError) as cause:
                failed = self._load_failed(fn, cause)
                if failed is not None:
                    raise failed from cause
            finally:
                self._loaded_at[place.name] = time.monotonic()

    async def _send(self, place: Place, command: list[bytes]) -> Any:
        """Sends a command once, and closes its connection if it is cancelled: the reply would be read by another call."""
        try:
            conn = await place.pool.get_connection(*_FOR)
        except (rx.RedisError, OSError, asyncio.TimeoutError) as cause:
            raise _Lost(cause, sent=False) from cause
        try:
            return await self._send_on(conn, command, place.asking)
        finally:
            await place.pool.release(conn)

    async def _send_on(self, conn: Any, command: list[bytes], asking: bool) -> Any:
        try:
            await conn.connect()
            await conn.check_health()
            if asking:
                await conn.send_command("ASKING", check_health=False)
                await conn.read_response()
        except (rx.ConnectionError, rx.TimeoutError, OSError, asyncio.TimeoutError) as cause:
            raise _Lost(cause, sent=False) from cause
        try:
            await conn.send_command(*command, check_health=False)
            return await conn.read_response(disable_decoding=True)
        except rx.ResponseError:
            raise
        except BaseException as cause:
            if isinstance(cause, rx.ConnectionError) and _reply_text(cause) is not None:
                raise
            await conn.disconnect()
            if isinstance(cause, (rx.RedisError, OSError, asyncio.TimeoutError)):
                raise _Lost(cause, sent=True) from cause
            raise
