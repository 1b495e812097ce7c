"""Finds the server that a call goes to: the only one, or in a cluster the primary of its key's hash slot."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import Any

import redis.asyncio.cluster
import redis.cluster
import redis.exceptions as rx

_REFRESH_INTERVAL = 1.0  # least seconds between two reads of the cluster's slots by one client


@dataclass(frozen=True)
class Redirect:
    """A reply in place of a call's: another node of the cluster is to run it."""

    host: str
    port: int
    asking: bool


def redirect_of(error: Exception) -> Redirect | None:
    if not isinstance(error, rx.AskError):  # a MovedError is one as well
        return None
    return Redirect(error.host, error.port, asking=not isinstance(error, rx.MovedError))


@dataclass(frozen=True)
class Place:
    """A server and its connections."""

    name: str
    pool: Any
    asking: bool = False


class _Nodes:
    def __init__(self, client: Any) -> None:
        self._client = client
        self.clustered = hasattr(client, "nodes_manager")
        self._refreshed_at = -_REFRESH_INTERVAL
        self._unlisted: dict[tuple[str, int], Any] = {}  # nodes without slots: one that is to get its first has none yet

    def _may_refresh(self) -> bool:
        return self.clustered and time.monotonic() - self._refreshed_at >= _REFRESH_INTERVAL

    def _node(self, key: bytes, redirect: Redirect | None) -> tuple[Any, bool]:
        """Returns a node of the cluster and whether the call needs ASKING there."""
        if redirect is not None and redirect.host:
            address = redirect.host, redirect.port
            node = self._client.get_node(*address) or self._unlisted.get(address)
            if node is None:
                node = self._unlisted[address] = self._new_node(*address)
            return node, redirect.asking
        return self._client.get_node_from_key(key), False

    def _new_node(self, host: str, port: int) -> Any:
        raise NotImplementedError


class Nodes(_Nodes):
    """The servers behind a redis.Redis or redis.RedisCluster."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._refreshing = threading.Lock()

    def _new_node(self, host: str, port: int) -> Any:
        return redis.cluster.ClusterNode(host, port, "primary")

    def place(self, key: bytes, redirect: Redirect | None) -> Place:
        if not self.clustered:
            return Place("", self._client.connection_pool)
        node, asking = self._node(key, redirect)
        return Place(node.name, self._client.get_redis_connection(node).connection_pool, asking)

    def refresh(self) -> None:
        """Reads again which node has which slots, at most once a second. If no node answers, the old map stays."""
        with self._refreshing:
            if not self._may_refresh():
                return
            try:
                self._client.nodes_manager.initialize()
            except (rx.RedisError, rx.RedisClusterException, OSError):
                pass
            finally:
                self._refreshed_at = time.monotonic()


class _NodePool:
    """Has the methods of a connection pool for a node of redis.asyncio.RedisCluster."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self.connection_class, self.connection_kwargs = node.connection_class, node.connection_kwargs

    async def get_connection(self, *_: str) -> Any:
        return self._node.acquire_connection()

    async def release(self, conn: Any) -> None:
        if hasattr(self._node, "release"):
            self._node.release(conn)
        else:  # redis-py 4
            self._node._free.append(conn)


class AsyncNodes(_Nodes):
    """The servers behind a redis.asyncio.Redis or redis.asyncio.RedisCluster."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._refreshing = asyncio.Lock()

    def _new_node(self, host: str, port: int) -> Any:
        return redis.asyncio.cluster.ClusterNode(host, port, "primary", **self._client.nodes_manager.connection_kwargs)

    async def place(self, key: bytes, redirect: Redirect | None) -> Place:
        if not self.clustered:
            return Place("", self._client.connection_pool)
        await self._client.initialize()  # does nothing after the first time
        node, asking = self._node(key, redirect)
        return Place(node.name, _NodePool(node), asking)

    async def refresh(self) -> None:
        """Does what Nodes.refresh does."""
        async with self._refreshing:
            if not self._may_refresh():
                return
            try:
                await self._client.nodes_manager.initialize()
            except (rx.RedisError, rx.RedisClusterException, OSError, asyncio.TimeoutError):
                pass
            finally:
                self._refreshed_at = time.monotonic()
