// Runs over node-redis' createCluster against the cluster that cluster_test.go starts: PROXY stands before BEHIND, the only node of
// another one.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test as register } from "node:test";
import { createClient, createCluster } from "redis";
import * as rl from "rlfunc-clients";
import { guard, minutes, ratelimit } from "rlfunc-clients";

const at = (variable: string): string => process.env[variable] as string;
const PRIMARIES = [at("PRIMARY0"), at("PRIMARY1")] as const;

/** Runs with a cluster that is closed in the end. */
function test(name: string, run: (cluster: ReturnType<typeof createCluster>) => Promise<void>, node = PRIMARIES[0]): void {
  register(name, { timeout: 60_000 }, async () => {
    const cluster = createCluster({ rootNodes: [{ url: `redis://${node}` }] });
    cluster.on("error", () => undefined);
    await cluster.connect();
    await run(cluster).finally(() => cluster.disconnect());
  });
}

/** Sends one command to one node. */
async function ask(node: string, ...words: string[]): Promise<any> {
  const redis = createClient({ url: `redis://${node}` });
  await redis.connect();
  return redis.sendCommand(words).finally(() => redis.disconnect());
}

const slotOf = (subject: string): Promise<number> => ask(PRIMARIES[0], "CLUSTER", "KEYSLOT", `x:{${subject}}:x`);

/** Returns a subject of a primary: the first one has the slots below 8192. Names are the same in each run: no two subjects share a slot. */
async function subjectAt(primary: 0 | 1, name: string): Promise<string> {
  for (let i = 0; ; i++) if ((await slotOf(name + i) < 8192) === (primary === 0)) return name + i;
}

const take = async (c: ratelimit.Client, subject: string, cost = 1): Promise<number> =>
  (await c.fixedWindow({ subject, limit: 10, window: minutes(1), cost })).remaining;

test("each node gets the library and counts its subjects", async (cluster) => {
  const c = new ratelimit.Client(cluster);
  for (const primary of [0, 1] as const) {
    const subject = await subjectAt(primary, "each");
    const left = await Promise.all(Array.from({ length: 20 }, () => c.fixedWindow({ subject, limit: 10, window: minutes(1) })));
    equal(left.filter((r) => r.allowed).length, 10);
    ok((await ask(PRIMARIES[primary], "FUNCTION", "LIST", "LIBRARYNAME", "ratelimit_v1")).length === 1);
  }
});

test("redirects are followed and count once", async (cluster) => {
  const c = new ratelimit.Client(cluster);
  const subject = await subjectAt(0, "redirected");
  const slot = String(await slotOf(subject));
  const [from, to] = PRIMARIES;
  const id = await ask(to, "CLUSTER", "MYID");
  await ask(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", await ask(from, "CLUSTER", "MYID"));
  await ask(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", id);
  deepEqual([await take(c, subject), await take(c, subject)], [9, 8]);
  for (const node of [to, from]) await ask(node, "CLUSTER", "SETSLOT", slot, "NODE", id);
  deepEqual([await take(c, subject), await take(c, subject)], [7, 6]);
});

test("keys of two slots are refused before anything runs", async (cluster) => {
  const limit = { name: "minute", kind: "gcra", limit: 10, window: minutes(1), of: await subjectAt(1, "cross") } as const;
  const call = new guard.Client(cluster).admit({ subject: await subjectAt(0, "cross"), limits: [limit] });
  await rejects(call, (e) => e instanceof rl.NotRunError && e.code === "CROSSSLOT");
});

test("a call that may have run is never sent twice", async (cluster) => {
  for (const namespace of ["lose-reply", "hold-reply"]) {
    const c = new ratelimit.Client(cluster, { namespace, timeout: rl.milliseconds(500) });
    await rejects(take(c, "u"), (e) => e instanceof rl.OutcomeUnknownError);
  }
  const behind = createClient({ url: `redis://${at("BEHIND")}` });
  await behind.connect();
  for (const namespace of ["lose-reply", "hold-reply"]) equal(await take(new ratelimit.Client(behind, { namespace }), "u", 0), 9);
  await behind.disconnect();
}, at("PROXY"));
