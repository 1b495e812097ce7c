// Runs against the clusters that cluster_test.go starts: two primaries with a replica each, EMPTY without slots; PROXY stands before BEHIND,
// the only node of another one. The last tests end the primaries.

import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test as register } from "node:test";
import { createClient, createCluster } from "redis";
import * as rl from "rlfunc-clients";
import { guard, minutes, ratelimit } from "rlfunc-clients";
import * as wire from "rlfunc-clients/dist/wire";

const at = (variable: string): string => process.env[variable] as string;
const PRIMARIES = [at("PRIMARY0"), at("PRIMARY1")] as const;
const REPLICAS = [at("REPLICA0"), at("REPLICA1")] as const;
const EMPTY = at("EMPTY");

const test = (name: string, run: () => Promise<void>): void => register(name, { timeout: 150_000 }, run);

const is = (type: new (...args: any[]) => Error, check: (e: any) => boolean = () => true) => (e: any): boolean => e instanceof type && check(e);

/** Runs with a cluster that is closed in the end. */
async function using(run: (cluster: rl.Cluster) => Promise<void>, nodes: readonly string[] = PRIMARIES): Promise<void> {
  const cluster = new rl.Cluster(nodes, (socket) => createClient({ socket }));
  try {
    await run(cluster);
  } finally {
    cluster.close();
  }
}

/** Sends one command to one node. */
async function ask(node: string, ...words: string[]): Promise<any> {
  const redis = createClient({ url: `redis://${node}` });
  redis.on("error", () => undefined);
  await redis.connect();
  try {
    return await redis.sendCommand(words);
  } finally {
    await redis.disconnect();
  }
}

const slotOf = (subject: string): number => wire.slotOf(wire.key("ratelimit", wire.toBytes(subject) as Uint8Array, "fixed"));

/** Returns a subject of a primary: the first one has the slots below 8192. Names are the same in each run: no two subjects share a slot. */
function subjectAt(primary: 0 | 1, name: string): string {
  for (let i = 0; ; i++) if ((slotOf(name + i) < 8192) === (primary === 0)) return name + i;
}

const window = { limit: 10, window: minutes(1) };

async function remaining(c: ratelimit.Client, subject: string): Promise<number> {
  return (await c.fixedWindow({ subject, ...window })).remaining;
}

/** Repeats a call that did not run, as it may for a moment after a failover. */
async function eventually<T>(call: () => Promise<T>, deadline = Date.now() + 60_000): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof rl.NotRunError)) throw error;
      if (Date.now() > deadline) {
        for (const node of [...REPLICAS, EMPTY]) console.log(node, await ask(node, "CLUSTER", "NODES"));
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const epoch = async (node: string): Promise<number> => Number(/cluster_current_epoch:(\d+)/.exec(await ask(node, "CLUSTER", "INFO"))![1]);

/** Makes a node the owner of a slot without keys. The others drop an owner's claim for that of a newer epoch only, so it first knows theirs. */
async function give(slot: number, to: string): Promise<void> {
  const newest = Math.max(...(await Promise.all(PRIMARIES.map(epoch))));
  while ((await epoch(to)) < newest) await new Promise((resolve) => setTimeout(resolve, 10));
  const id = await ask(to, "CLUSTER", "MYID");
  await ask(to, "CLUSTER", "BUMPEPOCH");
  for (const node of [to, ...PRIMARIES]) await ask(node, "CLUSTER", "SETSLOT", String(slot), "NODE", id);
}

test("a client announces its service on the node that has the records", () => using(async (cluster) => {
  const key = "rlfunc:{deploy}:clients";
  const node = PRIMARIES[wire.slotOf(key) < 8192 ? 0 : 1];
  const records = async (count: number): Promise<string[]> => {
    for (let found: string[]; ; await new Promise((resolve) => setTimeout(resolve, 5))) if ((found = await ask(node, "ZRANGE", key, "0", "-1")).length === count) return found;
  };
  const limits = new ratelimit.Client(cluster, { announce: "clustered" });
  ok((await records(1))[0]!.includes(" clustered typescript "));
  await limits.close();
  await records(0);
}));

test("an announcement follows its slot at once", () => using(async (cluster) => {
  const key = "rlfunc:{deploy}:clients";
  const [source, to] = wire.slotOf(key) < 8192 ? [PRIMARIES[0], PRIMARIES[1]] : [PRIMARIES[1], PRIMARIES[0]];
  const start = Date.now();
  await new ratelimit.Client(cluster).fixedWindowPeek({ subject: "u", ...window }); // learns the slots
  await give(wire.slotOf(key), to!);
  try {
    const limits = new ratelimit.Client(cluster, { announce: "moved" });
    while ((await ask(to!, "ZRANGE", key, "0", "-1")).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await limits.close();
    equal((await ask(to!, "ZRANGE", key, "0", "-1")).length, 0);
    ok(Date.now() - start < 30_000); // the next announcement would be a minute later
  } finally {
    await ask(to!, "DEL", key);
    await give(wire.slotOf(key), source!);
  }
}));

test("hash slots are those of Redis", async () => {
  const { keys } = JSON.parse(readFileSync(`${at("VECTORS")}/keys.json`, "utf8"));
  ok(keys.length > 10);
  for (const { key } of keys) equal(wire.slotOf(key), await ask(EMPTY, "CLUSTER", "KEYSLOT", key), key);
});

test("each node gets the library and counts its subjects", () => using(async (cluster) => {
  const c = new ratelimit.Client(cluster);
  for (const primary of [0, 1] as const) {
    const subject = subjectAt(primary, "each");
    const left = await Promise.all(Array.from({ length: 20 }, () => c.fixedWindow({ subject, ...window })));
    equal(left.filter((r) => r.allowed).length, 10);
    ok((await ask(PRIMARIES[primary], "FUNCTION", "LIST", "LIBRARYNAME", "ratelimit_v1")).length === 1);
  }
}, [PRIMARIES[0]]));

for (const listed of [true, false]) {
  test(`redirects to a node that is ${listed ? "" : "not "}listed are followed and count once`, () => using(async (cluster) => {
    const c = new ratelimit.Client(cluster);
    const to = listed ? PRIMARIES[1] : EMPTY;
    let subject = subjectAt(0, `ask-${listed}-`);
    let slot = slotOf(subject);
    await ask(to, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", await ask(PRIMARIES[0], "CLUSTER", "MYID"));
    await ask(PRIMARIES[0], "CLUSTER", "SETSLOT", String(slot), "MIGRATING", await ask(to, "CLUSTER", "MYID"));
    deepEqual([await remaining(c, subject), await remaining(c, subject)], [9, 8]);
    equal(await ask(to, "CLUSTER", "COUNTKEYSINSLOT", String(slot)), 1);
    await ask(to, "FLUSHDB");
    for (const node of [PRIMARIES[0], to]) await ask(node, "CLUSTER", "SETSLOT", String(slot), "STABLE");

    subject = subjectAt(0, `moved-${listed}-`);
    slot = slotOf(subject);
    await give(slot, to);
    deepEqual([await remaining(c, subject), await remaining(c, subject), await remaining(c, subject)], [9, 8, 7]);
    await ask(to, "FLUSHDB");
    await give(slot, PRIMARIES[0]);
  }));
}

test("keys of two slots are refused before anything runs", () => using(async (cluster) => {
  const limits = guard.packLimit({ name: "minute", kind: "gcra", ...window });
  const call = new guard.Client(cluster).admit({ subject: subjectAt(0, "cross"), limits, limitsOf: [subjectAt(1, "cross")] });
  await rejects(call, is(rl.NotRunError, (e) => e.code === "CROSSSLOT"));
}));

test("a lost reply is never sent twice", () => using(async (cluster) => {
  const c = new ratelimit.Client(cluster, { namespace: "lose-reply" });
  await rejects(remaining(c, "u"), is(rl.OutcomeUnknownError));
  const held = new ratelimit.Client(cluster, { namespace: "hold-reply", timeout: rl.milliseconds(300) });
  await rejects(remaining(held, "u"), is(rl.OutcomeUnknownError));
  await using(async (behind) => {
    equal(await eventually(() => remaining(new ratelimit.Client(behind, { namespace: "kept" }), "u")), 9);
  }, [at("PROXY")]);
  const behind = createClient({ url: `redis://${at("BEHIND")}` });
  await behind.connect();
  for (const namespace of ["lose-reply", "hold-reply"]) {
    equal((await new ratelimit.Client(behind, { namespace }).fixedWindowPeek({ subject: "u", ...window })).remaining, 9);
  }
  await behind.disconnect();
}, [at("PROXY")]));

test("a cluster that cannot be used says why", async () => {
  throws(() => new rl.Cluster([], (socket) => createClient({ socket })), is(TypeError));
  for (const node of ["", "localhost", ":6379", "redis://localhost", "redis://localhost:6379", "u@localhost:6379", "localhost:0", "localhost:65536"]) {
    throws(() => new rl.Cluster([node], (socket) => createClient({ socket })), is(TypeError));
  }
  throws(() => new ratelimit.Client(createCluster({ rootNodes: [] }) as any), is(TypeError));
  const options = { timeout: rl.milliseconds(500), maxAttempts: 1 };
  await using(async (cluster) => {
    await rejects(remaining(new ratelimit.Client(cluster, options), "u"), is(rl.NotRunError, (e) => e.message.includes("unknown hash slot")));
    cluster.close();
    await rejects(remaining(new ratelimit.Client(cluster, options), "u"), is(rl.NotRunError, (e) => e.message.includes("closed")));
  }, ["127.0.0.1:1"]);
});

test("a failover that leaves a silent primary behind is followed", () => using(async (cluster) => {
  const c = new ratelimit.Client(cluster, { timeout: rl.milliseconds(500) });
  const subject = subjectAt(1, "silent");
  equal(await remaining(c, subject), 9);
  equal(await ask(PRIMARIES[1], "WAIT", "1", "10000"), 1);
  const pid = Number(/process_id:(\d+)/.exec(await ask(PRIMARIES[1], "INFO", "server"))?.[1]);
  process.kill(pid, "SIGSTOP");
  try {
    await ask(REPLICAS[1], "CLUSTER", "FAILOVER", "TAKEOVER");
    await rejects(remaining(c, subject), is(rl.OutcomeUnknownError));
    const left = await eventually(() => c.fixedWindowPeek({ subject, ...window }));
    deepEqual([left.remaining, await remaining(c, subject)], [9, 8]);
  } finally {
    process.kill(pid, "SIGCONT");
  }
}, [PRIMARIES[0]]));

test("a primary that dies is replaced", () => using(async (cluster) => {
  const c = new ratelimit.Client(cluster);
  const subject = subjectAt(0, "dies");
  equal(await eventually(() => remaining(c, subject)), 9); // the cluster may be down for a moment after the failover before
  equal(await ask(PRIMARIES[0], "WAIT", "1", "10000"), 1);
  await ask(PRIMARIES[0], "SHUTDOWN", "NOSAVE", "NOW").catch(() => undefined);
  const call = eventually(() => c.fixedWindowPeek({ subject, ...window }));
  await ask(REPLICAS[0], "CLUSTER", "FAILOVER", "TAKEOVER");
  deepEqual([(await call).remaining, await remaining(c, subject)], [9, 8]);
}));
