"""Tells the server each minute that this process uses a library, so that `rlfunc plan`, `deploy` and `retire` see it."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import re
import socket
import threading
import weakref
from contextlib import suppress
from typing import Any, Callable, Coroutine

KEY = b"rlfunc:{deploy}:clients"
_EVERY = 60.0  # seconds between two announcements
_KEPT_MS = 24 * 3600 * 1000
_MOST = 50_000  # announcements of all processes; the oldest go first
_WITHIN = 2.0  # seconds that a command may take

_log = logging.getLogger("rlfunc_clients")


class Record:
    """The announcement of one process and library. docs/reference/wire.md has its form."""

    def __init__(self, server: str, version: str, service: str) -> None:
        self.server = server
        self._who = f"{server}@{version} {service} python"
        self._instance = re.sub(r"[^!-~]", "_", f"{socket.gethostname() or 'unknown'}:{os.getpid()}")[-128:]
        self._member = b""  # of the server's time when it is first announced
        self._failed = False

    def commands(self, time: list[bytes] | None) -> list[list[bytes]]:
        """Returns the commands that renew it at a time of the server, or else withdraw it."""
        if time is None:
            return [[b"ZREM", KEY, self._member]] if self._member else []
        now = int(time[0]) * 1000 + int(time[1]) // 1000
        self._member = self._member or f"{self._who} {now} {self._instance}".encode()
        return [
            [b"ZADD", KEY, b"%d" % now, self._member],
            [b"ZREMRANGEBYSCORE", KEY, b"-inf", b"%d" % (now - _KEPT_MS)],
            [b"ZREMRANGEBYRANK", KEY, b"0", b"%d" % (-_MOST - 1)],
            [b"EXPIRE", KEY, b"%d" % (_KEPT_MS // 1000)],
        ]

    def tried(self, error: BaseException | None) -> None:
        """Logs the first failure, and the first after a success."""
        if error is not None and not self._failed:
            why = str(error) or type(error).__name__
            _log.warning("announce %s: %s; until it succeeds, rlfunc retire does not see this process", self.server, why)
        self._failed = error is not None


class Announcer:
    """Announces from a thread that does not keep the process alive, and again in each process that is forked."""

    def __init__(self, new: Callable[[], Record], tell: Callable[[Record, bool], None]) -> None:
        self._new, self._tell = new, tell
        self.start()
        _announcers.add(self)
        atexit.register(self.close)

    def start(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._ended, self._new()), name="rlfunc-announce", daemon=True)
        self._thread.start()

    def _run(self, ended: threading.Event, record: Record) -> None:
        while True:
            try:
                self._tell(record, False)
                record.tried(None)
            except Exception as error:
                record.tried(error)
            if ended.wait(_EVERY):
                break
        with suppress(Exception):  # it expires
            self._tell(record, True)

    def close(self) -> None:
        atexit.unregister(self.close)
        _announcers.discard(self)
        self._ended.set()
        self._thread.join(2 * _WITHIN)


_announcers: weakref.WeakSet[Announcer] = weakref.WeakSet()


def _forked() -> None:
    for announcer in list(_announcers):
        announcer.start()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forked)


class AsyncAnnouncer:
    """Announces from a task, which the end of asyncio.run cancels. Another event loop gets another task, and goes on with the record: if a
    loop is closed without a cancel, its record is still there."""

    def __init__(self, new: Callable[[], Record], tell: Callable[[Record, bool], Coroutine[Any, Any, None]]) -> None:
        self._new, self._tell = new, tell
        self._task: asyncio.Task[None] | None = None
        self._record, self._pid = new(), os.getpid()
        self._closed = False
        with suppress(RuntimeError):  # no event loop runs yet: the first call starts it
            self.start()

    def start(self) -> None:
        """Starts the task unless this event loop has it."""
        loop = asyncio.get_running_loop()
        if not self._closed and (self._task is None or self._task.done() or self._task.get_loop() is not loop):
            if self._pid != os.getpid():  # a forked one
                self._record, self._pid = self._new(), os.getpid()
            self._task = loop.create_task(self._run(self._record))

    async def _run(self, record: Record) -> None:
        told: asyncio.Task[None] | None = None
        try:
            while True:
                told = asyncio.create_task(self._tell(record, False))
                await asyncio.wait([told])  # awaited itself, it could go on after a cancel: connections of redis-py lose some
                record.tried(told.exception())
                await asyncio.sleep(_EVERY)
        except asyncio.CancelledError:
            with suppress(Exception):  # it expires
                await asyncio.wait_for(self._withdraw(record, told), _WITHIN)
            raise

    async def _withdraw(self, record: Record, told: asyncio.Task[None] | None) -> None:
        if told is not None:
            await asyncio.gather(told, return_exceptions=True)  # a renewal that arrives after the withdrawal would stay
        await self._tell(record, True)

    async def close(self) -> None:
        self._closed = True
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            self._task.cancel()
            await asyncio.wait([self._task])


class _Own:
    """Stands for a pool with one connection: to database 0, and not one of those that calls need."""

    def __init__(self, pool: Any) -> None:
        self._conn = pool.connection_class(**{**pool.connection_kwargs, "db": 0, "socket_timeout": _WITHIN})


class OwnConnection(_Own):
    """Is for redis-py's connections that block."""

    def get_connection(self, *_: str) -> Any:
        return self._conn

    def release(self, conn: Any) -> None:
        pass

    def close(self) -> None:
        self._conn.disconnect()


class AsyncOwnConnection(_Own):
    """Is for connections of redis.asyncio."""

    async def get_connection(self, *_: str) -> Any:
        return self._conn

    async def release(self, conn: Any) -> None:
        pass

    async def close(self) -> None:
        await self._conn.disconnect()
