"""Runs against the clusters that cluster_test.go starts: REDIS is a primary of one with two, REPLICA its replica, EMPTY a node without
slots; PROXY stands before BEHIND, the only node of another one."""

import asyncio
import os
import signal
import time
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
import redis
import redis.asyncio
from redis.cluster import RedisCluster

import rlfunc_clients as rl
from rlfunc_clients import _client, guard, ratelimit

MINUTE = timedelta(minutes=1)


def address(variable):
    host, port = os.environ[variable].split(":")
    return host, int(port)


def cluster():
    host, port = address("REDIS")
    return RedisCluster(host=host, port=port)


def node(at):
    return redis.Redis(*at, decode_responses=True)


def primaries():
    return {(n.host, n.port): node((n.host, n.port)) for n in cluster().get_primaries()}


class Sync:
    """Calls over one RedisCluster, which keeps its map of the slots."""

    def __init__(self, variable="REDIS", **options):
        host, port = address(variable)
        self.redis = RedisCluster(host=host, port=port, **options)

    def take(self, subject, namespace=None):
        return ratelimit.Client(self.redis, namespace=namespace).fixed_window(subject, limit=10, window=MINUTE)

    def close(self):
        self.redis.close()


class Async:
    """The same over a redis.asyncio.RedisCluster."""

    def __init__(self, variable="REDIS", **options):
        host, port = address(variable)
        self.loop = asyncio.new_event_loop()
        self.options = dict(host=host, port=port, **options)
        self.redis = self.loop.run_until_complete(self.connect())

    async def connect(self):
        return await redis.asyncio.RedisCluster(**self.options).initialize()

    def take(self, subject, namespace=None):
        return self.loop.run_until_complete(self.call(subject, namespace))

    async def call(self, subject, namespace):
        return await ratelimit.AsyncClient(self.redis, namespace=namespace).fixed_window(subject, limit=10, window=MINUTE)

    def close(self):
        self.loop.run_until_complete(self.redis.close())
        self.loop.close()


@pytest.fixture(params=[Sync, Async])
def start(request):
    """Starts a client, and closes it after the test."""
    started = []

    def client(*args, **options):
        started.append(request.param(*args, **options))
        return started[-1]

    yield client
    for each in started:
        each.close()


def slot_of(subject):
    return cluster().keyslot(b"rl:{%s}:x" % _client.tag(subject))


def owner(slot):
    found = cluster().nodes_manager.get_node_from_slot(slot)
    return found.host, found.port


def epoch(of):
    return int(of.execute_command("CLUSTER INFO")["cluster_current_epoch"])


def give(slot, to):
    """Makes a node the owner of a slot without keys. The others drop an owner's claim for that of a newer epoch only, so it first knows theirs."""
    every = {**primaries(), to: node(to)}
    newest = max(epoch(n) for n in every.values())
    while epoch(every[to]) < newest:
        time.sleep(0.01)
    every[to].execute_command("CLUSTER BUMPEPOCH")
    for at in [to, *every]:
        every[at].execute_command("CLUSTER SETSLOT", slot, "NODE", every[to].execute_command("CLUSTER MYID"))


@contextmanager
def migrating(slot, to):
    """Lets calls of keys that the owner lacks be answered with ASK."""
    source, target = node(owner(slot)), node(to)
    source_id, target_id = (n.execute_command("CLUSTER MYID") for n in (source, target))
    target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source_id)
    source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target_id)
    yield target
    for n in (source, target):
        n.execute_command("CLUSTER SETSLOT", slot, "STABLE")


def subject_at(at, name):
    """Returns a subject of a primary that has no key in its slot yet: a slot with keys cannot be given away."""
    names = (f"{name}{i}" for i in range(1000))
    return next(s for s in names if owner(slot_of(s)) == at and node(at).execute_command("CLUSTER COUNTKEYSINSLOT", slot_of(s)) == 0)


def test_each_node_gets_the_library_and_counts_its_subjects(start):
    for n in primaries().values():
        if n.function_list("ratelimit_v*"):
            n.function_delete("ratelimit_v1")
    client, name = start(), start.__qualname__ + str(time.time())
    for at in primaries():
        subject = subject_at(at, name)
        assert [client.take(subject).remaining for _ in range(3)] == [9, 8, 7]


@pytest.mark.parametrize("target", ["listed", "unlisted"])
def test_redirects_are_followed_and_count_once(start, target):
    client, name = start(), f"{target}{time.time()}"
    source, other = primaries()
    to = other if target == "listed" else address("EMPTY")
    subject = subject_at(source, "ask" + name)
    if target == "unlisted":  # redis-py knows no node without slots
        with migrating(slot_of(subject), to), pytest.raises(rl.NotRunError, match="ASK"):
            client.take(subject)
    with migrating(slot_of(subject), other) as target_node:
        assert client.take(subject).remaining == 9
        assert target_node.execute_command("ASKING") and target_node.execute_command("CLUSTER COUNTKEYSINSLOT", slot_of(subject)) == 1
        assert client.take(subject).remaining == 8
        target_node.flushdb()
    subject = subject_at(source, "moved" + name)
    give(slot_of(subject), to)
    try:
        assert [client.take(subject).remaining for _ in range(3)] == [9, 8, 7]
    finally:
        node(to).flushdb()
        give(slot_of(subject), source)


def test_keys_of_two_slots_are_refused_before_anything_runs():
    one, two = (subject_at(at, "cross") for at in primaries())
    limit = guard.Limit(name="minute", kind=guard.LimitKind.GCRA, limit=10, window=MINUTE, of=two)
    with pytest.raises(rl.NotRunError) as found:
        guard.Client(cluster()).admit(one, limits=[limit])
    assert "CROSSSLOT" in str(found.value)


def test_a_lost_reply_is_never_sent_twice(start):
    client = start("PROXY", retry_on_timeout=True)
    subject = type(client).__name__
    with pytest.raises(rl.OutcomeUnknownError):
        client.take(subject, "lose-reply")
    behind = ratelimit.Client(node(address("BEHIND")), namespace="lose-reply")
    assert behind.fixed_window(subject, limit=10, window=MINUTE, cost=0).remaining == 9


def test_a_failover_is_followed(start):
    client = start()
    at, replica = pair()
    subject = subject_at(at, f"failover{time.time()}")
    assert client.take(subject).remaining == 9
    deadline = time.monotonic() + 60
    ask = 0.0  # a second question within 5 s would make the replica begin anew
    while (found := node(replica).info("replication"))["role"] != "master":
        assert time.monotonic() < deadline, found
        if found["master_link_status"] == "up" and time.monotonic() > ask:
            ask = time.monotonic() + 6
            with suppress(redis.ResponseError):  # it has become the primary meanwhile
                node(replica).execute_command("CLUSTER FAILOVER")
        time.sleep(0.1)
    assert eventually(lambda: client.take(subject), deadline).remaining == 8


def test_a_failover_from_a_silent_primary_is_followed(start):
    client = start(socket_timeout=0.5)
    at, replica = pair()
    subject = subject_at(at, f"silent{time.time()}")
    assert client.take(subject).remaining == 9
    # WAIT awaits what the server has written by the connection's last command: without one, nothing.
    primary = node(at)
    pid = primary.info("server")["process_id"]
    assert primary.wait(1, 10_000) == 1
    os.kill(pid, signal.SIGSTOP)
    try:
        node(replica).execute_command("CLUSTER FAILOVER", "TAKEOVER")
        with pytest.raises(rl.OutcomeUnknownError):
            client.take(subject)
        # Calls that are lost at the silent primary count nothing at the new one.
        lost = (rl.NotRunError, rl.OutcomeUnknownError)
        assert eventually(lambda: client.take(subject), time.monotonic() + 60, lost).remaining == 8
    finally:
        os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + 60
    while node(at).info("replication")["role"] != "slave":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def pair():
    """Returns the primary of two nodes, and its replica."""
    at, replica = address("REDIS"), address("REPLICA")
    return (at, replica) if node(at).info("replication")["role"] == "master" else (replica, at)


def eventually(call, deadline, errors=rl.NotRunError):
    """Repeats a call that fails: for a moment after a failover, nodes may answer CLUSTERDOWN."""
    while True:
        try:
            return call()
        except errors:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_pipelines_are_refused():
    for connect in (Sync, Async):
        client = connect()
        make = ratelimit.Client if connect is Sync else ratelimit.AsyncClient
        with pytest.raises(TypeError, match="client of ratelimit: want a redis.*Cluster .*, got redis.*Pipeline"):
            make(client.redis.pipeline())
        client.close()
