// Runs against the servers that typescript_test.go starts: REDIS is the server, PROXY stands before it, VECTORS is the folder of the tables that all languages share.

import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { execFileSync } from "node:child_process";
import { test as register } from "node:test";
import { createClient } from "redis";
import * as rl from "rlfunc-clients";
import { abuse, challenge, concurrency, cost, everything, guard, hours, micros, microseconds, minutes, ratelimit, seconds } from "rlfunc-clients";
import { refusal } from "rlfunc-clients/dist/client";
import * as wire from "rlfunc-clients/dist/wire";

const { REDIS, PROXY, VECTORS } = process.env;
const minute = minutes(1);

/** Runs with a connected node-redis client that is closed in the end. */
async function using(run: (redis: ReturnType<typeof createClient>) => Promise<void>, address = REDIS): Promise<void> {
  const redis = createClient({ url: `redis://${address}` });
  redis.on("error", () => undefined); // a lost connection is one
  await redis.connect();
  try {
    await run(redis);
  } finally {
    if (!redis.isReady) await new Promise((resolve) => redis.on("ready", () => resolve(undefined))); // else the new connection stays open
    await redis.disconnect();
  }
}

const test = (name: string, run: () => Promise<void>): void => register(name, { timeout: 30_000 }, run);

const is = (type: new (...args: any[]) => Error, check: (e: any) => boolean = () => true) => (e: any): boolean => e instanceof type && check(e);

test("keys are those of Go", async () => {
  const vectors = JSON.parse(readFileSync(`${VECTORS}/keys.json`, "utf8"));
  ok(vectors.keys.length > 10 && vectors.namespaces.length > 5);
  for (const v of vectors.keys) {
    const raw = Uint8Array.from(Buffer.from(v.bytes, "hex"));
    deepEqual(wire.toBytes(v.text), raw, v.text);
    equal(wire.toText(raw), v.text);
    equal(wire.tag(raw), v.tag);
    equal(wire.key("ns", raw, "log"), v.key);
    equal(wire.keyOf("ns", raw, "log", raw), v.key_of);
  }
  await using(async (redis) => {
    const c = new everything.Client(redis, { namespace: "ns" });
    for (const subject of [...vectors.no_bytes, "", new Uint8Array()]) await rejects(c.fail({ subject, how: "not" }), is(rl.ArgumentError));
    for (const v of vectors.keys) {
      const got = await c.pays({ subject: v.text, payer: v.text, payee: Uint8Array.from(Buffer.from(v.bytes, "hex")) });
      deepEqual([got.same, got.to], [true, v.key_of.replace("}:log:", "}:account:")]);
    }
    for (const payer of [undefined, 5, vectors.no_bytes[0], "x".repeat(301)]) {
      await rejects(
        c.pays({ subject: "n", payer: payer as any, payee: "ann" }),
        is(rl.ArgumentError, (e) => e.problems.length === 1 && e.problems[0]?.startsWith("payer must be text") === true),
      );
    }
    const first = vectors.keys.find((v: any) => v.text === "{x}");
    equal((await c.echo({ ...full, subject: "{x}" })).bucket, first.key.replace("log", "state"));
  });
  for (const v of vectors.namespaces) {
    if (v.legal) wire.checkName("namespace", v.text);
    else throws(() => wire.checkName("namespace", v.text), is(RangeError));
  }
});

const full: everything.EchoParams = {
  subject: "user42", number: 100, cost: 0, bonus: 0, level: 9, price: micros(1_000_000_000), tip: micros(1), window: microseconds(2),
  grace: hours(1), since: 1763706867123584 as rl.Time, latest: 1 as rl.Time, on: true, off: true,
  note: Uint8Array.from([97, 0, 98, 13, 10, 255, 123, 125]), receipt: "r".repeat(256), kind: "bucket", mode: "open",
};
const echoed: everything.EchoResult = {
  bucket: "ns:{user42}:state", second: "ns:{user42}:more", number: 100, cost: 0, bonus: 0, level: 9, price: micros(1_000_000_000),
  tip: micros(1), window: microseconds(2), grace: hours(1), since: full.since, later: full.latest, on: true, off: true,
  note: "a\x00b\r\n\udcff{}", receipt: "r".repeat(256), kind: "bucket", mode: "open",
};

test("every type comes back as sent", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  deepEqual(await c.echo(full), echoed);
  deepEqual((await c.echo({ ...full, note: echoed.note })).note, echoed.note);
  const least = await c.echo({
    subject: "u", number: 1, window: microseconds(1), since: 0 as rl.Time, price: micros(0), on: false, note: "", kind: "log",
  });
  deepEqual([least.cost, least.since, least.grace, least.mode], [7, undefined, seconds(5), "closed"]);
  const most = await c.echo({ ...full, bonus: 2 ** 53, tip: micros(2 ** 53), latest: 2 ** 53 as rl.Time });
  deepEqual([most.bonus, most.tip, most.later], [2 ** 53, 2 ** 53, 2 ** 53]);
}));

test("numbers that a call cannot carry exactly are refused", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  for (const bonus of [2 ** 53 + 2, 0.5, -1, NaN, Infinity, 10n as any, "7" as any, null as any]) {
    await rejects(c.echo({ ...full, bonus }), is(rl.ArgumentError, (e) => e.problems.length === 1));
  }
  equal((await c.echo({ ...full, bonus: -0 })).bonus, 0);
}));

test("an argument that there is not is refused", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const says = (want: string) => is(rl.ArgumentError, (e) => e.problems.length === 1 && e.problems[0].startsWith(want));
  await rejects(c.echo({ ...full, windw: minute } as any), says("windw must not be given: the names are subject, number, "));
  await rejects(new ratelimit.Client(redis).fixedWindow({ subject: "u", limit: 9, window: minute, cots: 5 } as any), says("cots must not be given: the names are subject, limit, window, cost"));
  throws(() => ratelimit.packLimit({ name: "all", kind: "gcra", limit: 9, window: minute, bust: 5 } as any), says("limit.0.bust must not be given: "));
  const tiers = [{ threshold: 3, window: minute, block: minute, blok: minute }];
  await rejects(new abuse.Client(redis).attempt({ subject: "u", tiers } as any), says("tiers.0.blok must not be given: the names are threshold, window, block"));
}));

test("numbers below zero and defaults", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const least = 1 - 2 ** 53;
  const steps = everything.packSignsSteps({ by: -5, rate: 1 / 3, on: false }, { by: 0 });
  const given = { delta: -1000, score: -0.1, wide: least, debt: -1, weight: 1e-7, region: "us" };
  deepEqual(await c.signs({ subject: "u", ...given, strict: false, steps }), {
    ...given, allowed: false, steps: [{ by: -5, rate: 1 / 3, on: false }, { by: 0, rate: -0.25, on: true }],
  });
  deepEqual(await c.signs({ subject: "u", delta: -0, score: -0 }), {
    allowed: true, delta: 0, score: 0, wide: 7, debt: 0, weight: 0.5, region: "eu west = 1", steps: [],
  });
  for (const wrong of [{ delta: -1001 }, { delta: 0.5 }, { score: NaN }, { score: -Infinity }, { debt: 0 }, { score: "1" as any }]) {
    await rejects(c.signs({ subject: "u", delta: 0, score: 0, ...wrong }), is(rl.ArgumentError));
  }
}));

test("a float without bounds is any finite number", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  for (const n of [Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53, 1e300, 0.1]) {
    const steps = everything.packOpenSteps({ by: n }, {});
    deepEqual(await c.open({ subject: "u", any: n, least: Math.abs(n), most: -Math.abs(n), steps, list: [n], times: "one" }), {
      any: n, least: Math.abs(n), most: -Math.abs(n), sum: [n, 0.5, n],
    });
  }
  for (const wrong of [{ any: Infinity }, { any: NaN }, { least: Infinity }, { least: -1 }, { most: -Infinity }, { list: [NaN] }]) {
    await rejects(c.open({ subject: "u", any: 0, least: 0, times: "one", ...wrong }), is(rl.ArgumentError));
  }
}));

test("rules of the header are checked before anything is sent", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const packs = everything.packTogetherPacks({ low: -1, high: 0 });
  const fine = { subject: "u", kind: "one", limit: 50, window: minute, packs } as const;
  equal((await c.together({ ...fine, rows: [{ id: "a" }, { id: "a", whole: 9 }] })).sum, 1);
  const start = rl.fromDate(new Date("2025-01-01T00:00:00Z"));
  const wrong: [string, object][] = [
    ["cost must be at most limit: it can never be allowed", { cost: 51 }],
    ["cost * limit must be below 5000 if kind is two", { kind: "two", cost: 100, limit: 100 }],
    ["share must be below 1 unless fast", { share: 1 }],
    ["start + window must be at most after", { start, after: start + minute - 1 }],
    ["hold must be omitted if no receipt", { hold: minute }],
    ["start and after must be given if kind is three", { kind: "three", start }],
    ["receipt or other must be given if fast", { fast: true, limit: 7 }],
    ["other must differ from receipt", { receipt: "a", other: new TextEncoder().encode("a") }],
    ["kind must not be two if fast", { fast: true, kind: "two", receipt: "a" }],
    ["limit must be 7 or 9 if kind is one and fast", { fast: true, receipt: "a" }],
    ["rows.1.part must be at most whole", { rows: [{ id: "a" }, { id: "b", part: 51 }] }],
    ["rows must differ in id or whole", { rows: [{ id: "a" }, { id: "a", whole: 50 }] }],
    ["names must differ", { names: ["a", new TextEncoder().encode("a")] }],
    ["names must have as many rows as rows if fast", { fast: true, receipt: "a", limit: 9, names: ["a"] }],
    ["packs.0.wait must be at most window: a pack waits within it", { packs: everything.packTogetherPacks({ low: 0, wait: rl.minutes(2) }) }],
  ];
  for (const [must, args] of wrong) {
    await rejects(c.together({ ...fine, ...args } as any), is(rl.ArgumentError, (e) => e.problems.includes(must)));
  }
  throws(() => everything.packTogetherPacks({ low: 1 }, { low: 1, high: 0 }), is(rl.ArgumentError, (e) => e.problems[0] === "packs.1.low must be at most high"));
}));

test("lists come back", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const time = rl.fromDate(new Date("2025-01-01T00:00:00Z"));
  const same = { counts: [9, 0], deltas: [-5], scores: [0.5, 0], prices: [micros(3)], waits: [minute], times: [time], marks: [true, false] };
  const kinds = ["bucket", "log"] as const;
  deepEqual(await c.lists({ subject: "u", ...same, kinds, names: ["a", new Uint8Array(), "\udcff"], copies: 2 }), {
    ...same, kinds: [...kinds], names: ["a", "", "\udcff", "a", "", "\udcff"], total: 60_000_009,
  });
  deepEqual(await c.lists({ subject: "u", counts: [0] }), {
    names: [], counts: [0], deltas: [], scores: [], prices: [], waits: [], times: [], marks: [], kinds: [], total: 0,
  });
  const wrongs: [string, Partial<everything.ListsParams>][] = [
    ["names must have 0 to 4 rows, got 5", { names: ["", "", "", "", ""] }],
    ["names.1 must be text of 0 to 8 bytes, got 9 bytes", { names: ["", "123456789"] }],
    ["counts.0 must be a whole number from 0 to 9, got 10", { counts: [10] }],
    ["kinds.0 must be one of log, bucket, got \"x\"", { kinds: ["x" as any] }],
  ];
  for (const [must, wrong] of wrongs) {
    await rejects(c.lists({ subject: "u", counts: [1], ...wrong }), is(rl.ArgumentError, (e) => e.problems.length === 1 && e.problems[0] === must));
  }
  await rejects(c.lists({ subject: "u", counts: [1], names: ["", "", ""], copies: 3 }), is(rl.OutcomeUnknownError));
}));

test("servers are compared as in Go", async () => {
  const rows = JSON.parse(readFileSync(`${VECTORS}/servers.json`, "utf8"));
  ok(rows.length > 10);
  for (const v of rows) equal(refusal("shop_v1 1.0.0", v.requires, v.info), v.refusal, v.info);
});

test("a library is not loaded on a server that is too old", () => using(async (redis) => {
  const c = new everything.Client({
    isOpen: true, isReady: true,
    sendCommand: (args: any[], options: any) => args[0] === "INFO"
      ? Promise.resolve(Buffer.from("redis_version:6.9.9\r\n")) : args[0] === "FUNCTION" ? Promise.reject(new Error("loaded")) : redis.sendCommand(["FCALL", "no_such_function", "0"], options),
  } as any, { namespace: "ns" });
  await rejects(c.fail({ subject: "u", how: "not" }), is(rl.NotLoadedError, (e) => e.message.includes("requires Redis 7.0 or Valkey 7.2 or later, and this is Redis 6.9.9")));
}));

test("rows have bounds", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  deepEqual((await c.few({ subject: "u", rows: 2, items: 2 })).numbers, [7, 7]);
  for (const call of [c.few({ subject: "u", rows: 1, items: 1 }), c.few({ subject: "u", rows: 2, items: 0 }), c.short({ subject: "u", rows: 4 })]) {
    await rejects(call, is(rl.OutcomeUnknownError, (e) => /must have [12] to [23] rows/.test(e.message)));
  }
}));

test("none is not zero", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const none = await c.maybe({ subject: "u", which: "none", rows: 1 });
  ok(Object.entries(none).every(([name, v]) => (name === "found" ? v === false : name === "rows" || v === undefined)));
  deepEqual(none.rows, [{ name: undefined, number: undefined }]);
  deepEqual(await c.maybe({ subject: "u", which: "zeros", rows: 1 }), {
    found: true, holder: "", small: 0, neverZero: 5, large: 0, delta: -1, score: 0, price: 0, wait: 0, since: undefined, on: false, kind: "log",
    rows: [{ name: "", number: 0 }],
  });
  deepEqual(await c.maybe({ subject: "u", which: "values", rows: 0 }), {
    found: true, holder: "ann", small: 9, neverZero: 9, large: 3, delta: -9, score: 0.25, price: 7, wait: 1000, since: 1, on: true, kind: "bucket",
    rows: [],
  });
}));

test("bytes and JSON come back", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const every = Uint8Array.from({ length: 64 }, (_, i) => i * 37);
  const same = { payload: { a: "\u00e9<" }, order: { id: "o1" }, before: [null], note: 0, orders: ["x", 1.5] };
  const rows = everything.packBlobsRows({ data: bytes("\0,;%"), extra: { a: [1] } }, { data: new Uint8Array() });
  const got = await c.blobs({ subject: "u", ...same, data: every, seal: Uint8Array.of(0), parts: [new Uint8Array(), Uint8Array.of(255)], rows });
  deepEqual([got.payload, got.order, got.before, got.note, got.orders], [same.payload, same.order, same.before, same.note, same.orders]);
  deepEqual([got.data, got.seal, ...got.parts].map((b) => [...(b as Uint8Array)]), [[...every], [0], [], [255]]);
  deepEqual(got.rows.map((row) => [[...row.data], row.extra]), [[[0, 44, 59, 37], { a: [1] }], [[], undefined]]);
  const least = await c.blobs({ subject: "u", data: new Uint8Array(), payload: null, order: true });
  deepEqual([least.seal, least.payload, least.order, least.before, least.note], [undefined, null, true, undefined, undefined]);
  for (const payload of [NaN, [Infinity], 1n, undefined, () => 1, "x".repeat(31)]) {
    await rejects(c.blobs({ subject: "u", data: new Uint8Array(), payload, order: true }), is(rl.ArgumentError));
  }
  await rejects(c.blobs({ subject: "u", data: new Uint8Array(), payload: 0, order: true, wrong: "broken" }), is(rl.ReplyError));
}));

// Each of these is a mistake of units or of names, which tsc reports: without an error the directive is one.
export const mistakes = (c: ratelimit.Client, e: everything.Client): unknown => [
  // @ts-expect-error a number is not a duration
  c.fixedWindow({ subject: "u", limit: 10, window: 60 }),
  // @ts-expect-error a duration is not a count
  c.fixedWindow({ subject: "u", limit: minute, window: minute }),
  // @ts-expect-error money is not a duration
  c.fixedWindow({ subject: "u", limit: 10, window: micros(5) }),
  // @ts-expect-error a pack of other rows
  e.packs({ subject: "u", before: 0, items: everything.packPacksPairsOf(), pairsOf: everything.packPacksPairsOf() }),
  // @ts-expect-error there is no such value
  e.fail({ subject: "e", how: "never" }),
  // @ts-expect-error window is missing
  c.fixedWindow({ subject: "u", limit: 10 }),
];

test("groups and packs", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  const got = await c.rows({
    subject: "u", before: 5, after: "end",
    limits: [{ name: "minute", form: "sum", window: minute }, { name: "odd: {x}", form: "last", window: minute, cost: 0 }],
    tiers: [{}, { block: minute }],
  });
  deepEqual([got.total, got.after, got.tiers], [9, "end", [{ block: microseconds(0) }, { block: minute }]]);
  const bytes = (s: string) => wire.toBytes(s) as Uint8Array;
  deepEqual(got.limits.map((row) => row.log), ["minute", "odd: {x}"].map((n) => wire.keyOf("ns", bytes("u"), "log", bytes(n))));
  const items = everything.packItem({ name: "a,b;%", kind: "sum", window: minute, on: true, note: Uint8Array.from([255]), budget: micros(0) });
  const pairsOf = everything.packPacksPairsOf({ left: "l", right: 1, third: 2 }, { left: ";", right: 0 });
  const packed = await c.packs({ subject: "u", before: 0, items, itemsOf: ["v"], pairsOf });
  deepEqual(packed.items.map((i) => [i.name, i.note, i.cost, i.on]), [["a,b;%", "\udcff", 1, true]]);
  equal(packed.items[0]?.seen, wire.keyOf("ns", bytes("v"), "seen", bytes("a,b;%")));
  deepEqual(packed.pairsOf.map((p) => [p.left, p.right, p.third]), [["l", 1, 2], [";", 0, 0]]);
  const noted = await c.sometimes({
    subject: "u", number: 1, note: "x", noteOf: "w", others: ["o"], pairsOf: everything.packSometimesPairsOf({ left: "l" }),
  });
  deepEqual(noted.keys.map((k) => k.name), ["ns:{u}:state", "ns:{w}:noted", "ns:{o}:state"]);
  throws(() => everything.packItem({ name: "", kind: "other" as any, window: minute, on: true, note: "", budget: micros(0) }), is(rl.ArgumentError));
}));

test("errors are typed", () => using(async (redis) => {
  const c = new everything.Client(redis, { namespace: "ns" });
  await rejects(c.fail({ subject: "", how: "never" as any }), is(rl.ArgumentError, (e) => e.problems.length === 2));
  await rejects(c.fail({ subject: "e", how: "declared" }), is(rl.CodeError, (e) => e.code === "RLBUSY"));
  for (const how of ["runtime", "command", "negative"] as const) await rejects(c.fail({ subject: "e", how }), is(rl.OutcomeUnknownError));
  await redis.rPush("ns:{bad}:state", "x");
  await rejects(c.fail({ subject: "bad", how: "runtime" }), is(rl.StateError, (e) => e.key === "ns:{bad}:state" && !e.message.includes("bad")));
  await redis.sendCommand(["ACL", "SETUSER", "limited", "on", "nopass", "~*", "+@all", "-fcall", "-function"]);
  const limited = createClient({ url: `redis://limited:x@${REDIS}` });
  await limited.connect();
  await rejects(new everything.Client(limited).fail({ subject: "e", how: "not" }), is(rl.NotRunError, (e) => e.code === "NOPERM"));
  await limited.disconnect();
  await rejects(new everything.Client(limited).fail({ subject: "e", how: "not" }), is(rl.NotRunError));
}));

test("without a connection nothing is queued", async () => {
  const redis = createClient({ socket: { host: "127.0.0.1", port: 1, reconnectStrategy: () => 20 } });
  redis.on("error", () => undefined);
  void redis.connect().catch(() => undefined);
  const c = new everything.Client(redis, { maxAttempts: 2, timeout: rl.milliseconds(50) });
  await rejects(c.fail({ subject: "e", how: "not" }), is(rl.NotRunError));
  await redis.disconnect();
});

test("rows are packs and subjects are arrays", () => using(async (redis) => {
  const c = new guard.Client(redis);
  const limit = { name: "m", kind: "gcra", limit: 1, window: minute } as const;
  for (const wrong of [{ limits: [limit] }, { limits: guard.packLimit(limit), limitsOf: "u" }] as any[]) {
    await rejects(c.admit({ subject: "u", ...wrong }), is(rl.ArgumentError, (e) => e.problems.length === 1 && e.problems[0].startsWith("limits")));
  }
  await rejects(new everything.Client(redis).sometimes({ subject: "u", number: 1, others: "o" } as any), is(rl.ArgumentError));
}));

test("options that make no sense are refused", () => using(async (redis) => {
  for (const timeout of [0, -1, NaN, Infinity, hours(1000), rl.days(25), "5" as any]) {
    throws(() => new ratelimit.Client(redis, { timeout }), is(RangeError, (e) => e.message.startsWith("client of ratelimit: timeout must be above 0 and at most days(24), got")));
  }
  for (const maxAttempts of [0, -1, 1.5, NaN, Infinity, "3" as any, true as any]) throws(() => new ratelimit.Client(redis, { maxAttempts }), is(RangeError));
  for (const namespace of ["", "a b", 5 as any, {} as any]) throws(() => new ratelimit.Client(redis, { namespace }), is(RangeError));
  for (const autoLoad of ["false", 0] as any[]) throws(() => new ratelimit.Client(redis, { autoLoad }), is(TypeError));
  for (const timeout of [rl.days(24), microseconds(1e6)]) {
    equal((await new ratelimit.Client(redis, { namespace: "long", timeout }).gcra({ subject: "u", limit: 9, period: minute, burst: 9 })).allowed, true);
  }
}));

test("a library of a checkout with CRLF is loaded with LF", () => using(async (redis) => {
  const file = `${dirname(require.resolve("rlfunc-clients"))}/../lua/everything.lua`;
  const code = readFileSync(file, "utf8");
  writeFileSync(file, code.replace(/\n/g, "\r\n"));
  try {
    await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
    await new everything.Client(redis).fail({ subject: "e", how: "not" });
    const [library] = await redis.sendCommand(["FUNCTION", "LIST", "LIBRARYNAME", "everything_v2", "WITHCODE"]) as unknown[][];
    equal(library?.slice(-1)[0], code);
  } finally {
    writeFileSync(file, code);
  }
}));

test("a missing library is loaded unless autoLoad is false", () => using(async (redis) => {
  await new everything.Client(redis).fail({ subject: "e", how: "not" });
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
  await rejects(new everything.Client(redis, { autoLoad: false }).fail({ subject: "e", how: "not" }), is(rl.NotLoadedError));
  const c = new everything.Client(redis);
  const all = await Promise.all(Array.from({ length: 8 }, () => c.fail({ subject: "e", how: "not" })));
  deepEqual(all.map((r) => r.number), Array(8).fill(1));
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
  await redis.sendCommand(["FUNCTION", "LOAD", "#!lua name=everything_v2\nredis.register_function('everything_v2_other', function() return 1 end)"]);
  await rejects(new everything.Client(redis).fail({ subject: "e", how: "not" }), is(rl.NotLoadedError, (e) => e.message.includes("even after a load")));
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
}));

const remaining = async (namespace: string): Promise<number | undefined> => {
  let left: number | undefined;
  await using(async (redis) => {
    left = (await new ratelimit.Client(redis, { namespace }).fixedWindowPeek({ subject: "u", limit: 10, window: minute })).remaining;
  });
  return left;
};

test("a call that may have run is never sent twice", () => using(async (redis) => {
  const lost = new ratelimit.Client(redis, { namespace: "lose-reply" });
  await rejects(lost.fixedWindow({ subject: "u", limit: 10, window: minute }), is(rl.OutcomeUnknownError));
  const held = new ratelimit.Client(redis, { namespace: "hold-reply", timeout: rl.milliseconds(300) });
  await rejects(held.fixedWindow({ subject: "u", limit: 10, window: minute }), is(rl.OutcomeUnknownError));
  await redis.disconnect();
  await redis.connect();
  const kept = await new ratelimit.Client(redis, { namespace: "kept" }).fixedWindow({ subject: "u", limit: 10, window: minute });
  deepEqual([kept.remaining, await remaining("lose-reply"), await remaining("hold-reply")], [9, 9, 9]);
}, PROXY));

test("fifty at once against ten", () => using(async (redis) => {
  const c = new ratelimit.Client(redis);
  const all = await Promise.all(Array.from({ length: 50 }, () => c.slidingLog({ subject: "many", limit: 10, window: minute })));
  equal(all.filter((r) => r.allowed).length, 10);
}));

test("every library works", () => using(async (redis) => {
  const g = new ratelimit.Client(redis);
  const steady = await g.gcra({ subject: "u", limit: 10, period: minute, burst: 3 });
  deepEqual([steady.allowed, steady.remaining], [true, 2]);
  const limits = ratelimit.packLimit({ name: "a", kind: "fixed_window", limit: 1, window: minute }, { name: "b", kind: "gcra", limit: 5, window: minute });
  deepEqual((await g.check({ subject: "u", limits })).limits.map((l) => l.remaining), [0, 4]);
  const refused = await g.check({ subject: "u", limits });
  deepEqual([refused.allowed, refused.refused], [false, 1]);
  ok(refused.retryAfter > 0 && refused.retryAfter <= minute && rl.toSeconds(refused.retryAfter) <= 60);

  const money = new cost.Client(redis);
  const budgets = cost.packAccountBudget({ budget: micros(1000), window: minute });
  equal((await money.reserve({ subject: "u", receipt: "r1", estimate: micros(600), limits: budgets })).allowed, true);
  const short = await money.reserve({ subject: "u", receipt: "r2", estimate: micros(600), limits: budgets });
  deepEqual([short.allowed, short.reason, short.limits[0]?.remaining], [false, "budget", 400]);

  const blocks = new abuse.Client(redis);
  const tiers = [{ threshold: 2, window: minute, block: hours(1) }];
  deepEqual([(await blocks.attempt({ subject: "u", tiers })).allowed, (await blocks.attempt({ subject: "u", tiers })).allowed], [true, false]);

  const once = new challenge.Client(redis);
  await once.issue({ subject: "u", token: "one", ttl: minute });
  deepEqual([(await once.consume({ subject: "u", token: "one" })).outcome, (await once.consume({ subject: "u", token: "one" })).outcome],
    ["consumed", "replayed"]);

  const places = new concurrency.Client(redis);
  const got = await places.acquire({ subject: "u", holder: "h1", limit: 1, lease: minute });
  const second = await places.acquire({ subject: "u", holder: "h2", limit: 1, lease: minute });
  deepEqual([got.allowed, second.allowed], [true, false]);

  const all = new guard.Client(redis);
  const rows = guard.packLimit({ name: "m", kind: "sliding_log", limit: 2, window: minute }, { name: "g", kind: "gcra", limit: 9, window: minute, global: true });
  const decided = await all.admit({ subject: "u2", limits: rows, limitsOf: ["u2", "global/all"], receipt: "one" });
  deepEqual([decided.allowed, decided.reason, decided.limits.map((l) => l.remaining)], [true, "none", [1, 8]]);
  equal((await all.admit({ subject: "u2", limits: rows, limitsOf: ["u2", "global/all"], receipt: "one" })).duplicate, true);
  await rejects(all.admit({ subject: "u2", limits: rows, limitsOf: ["u2"] }), is(rl.ArgumentError));
}));

/** An ioredis client as its documentation describes callBuffer, over a socket of node-redis. */
class FakeIORedis {
  status = "ready";
  readonly sent: (string | Buffer | number)[][] = [];
  constructor(private readonly redis: ReturnType<typeof createClient>, readonly options: { autoResendUnfulfilledCommands?: boolean; keyPrefix?: string }) {}
  async callBuffer(...args: [command: string, ...args: (string | Buffer | number)[]]): Promise<unknown> {
    this.sent.push(args);
    try {
      return await this.redis.sendCommand(args as any, { returnBuffers: true } as any);
    } catch (error) {
      throw (error as Error).constructor.name === "ErrorReply" ? new ReplyError((error as Error).message) : new Error("Connection is closed.");
    }
  }
  duplicate(options: { db: number }): FakeIORedis {
    const redis = this.redis.duplicate({ url: undefined, database: options.db } as any);
    const io = Object.assign(new FakeIORedis(redis, this.options), { status: "connecting", on: () => undefined, connect: async () => { throw new Error("Redis is already connecting"); } });
    void redis.connect().then(() => (io.status = "ready"));
    return Object.assign(io, { disconnect: () => void redis.disconnect() });
  }
}
class ReplyError extends Error {}

test("ioredis works, and settings that send twice are refused", () => using(async (redis) => {
  const safe = { autoResendUnfulfilledCommands: false };
  const io = new FakeIORedis(redis, safe);
  deepEqual(await new everything.Client(io, { namespace: "ns" }).echo(full), echoed);
  ok(io.sent.every((words) => typeof words[0] === "string"));
  await rejects(new everything.Client(io).fail({ subject: "e", how: "declared" }), is(rl.CodeError));
  for (const options of [{}, { autoResendUnfulfilledCommands: true }, { ...safe, keyPrefix: "p:" }, { ...safe, reconnectOnError: () => 2 }, { ...safe, stringNumbers: true }]) {
    throws(() => new everything.Client(new FakeIORedis(redis, options)), is(TypeError));
  }
  for (const other of [{ nodes: () => [] }, { isPipeline: true }]) throws(() => new everything.Client(Object.assign(new FakeIORedis(redis, safe), other)), is(TypeError));
  for (const wrong of [{ sendCommand: async () => 0 }, undefined, "redis://127.0.0.1", redis.multi()] as any[]) throws(() => new everything.Client(wrong), is(TypeError));
  throws(() => new everything.Client(createClient({ legacyMode: true })), is(TypeError, (e) => e.message.includes("legacyMode")));
  const fifth = Object.assign(createClient(), { withTypeMapping: () => undefined });
  throws(() => new everything.Client(fifth), is(TypeError, (e) => e.message.includes("install redis@4")));
  await using(async (proxied) => {
    const lossy = new FakeIORedis(proxied, safe);
    const lost = new ratelimit.Client(lossy, { namespace: "kept" });
    await lost.fixedWindow({ subject: "u", limit: 10, window: minute });
    const gone = new ratelimit.Client(lossy, { namespace: "lose-reply" });
    const before = lossy.sent.length;
    await rejects(gone.fixedWindow({ subject: "v", limit: 10, window: minute }), is(rl.OutcomeUnknownError));
    equal(lossy.sent.length, before + 1);
  }, PROXY);
  io.status = "end";
  await rejects(new everything.Client(io).fail({ subject: "e", how: "not" }), is(rl.NotRunError));
}));

const announced = "rlfunc:{deploy}:clients";

/** Waits until as many records of a service are there, and returns them. */
async function records(redis: ReturnType<typeof createClient>, service: string, count: number): Promise<string[]> {
  for (;;) {
    const all: string[] = (await redis.zRange(announced, 0, -1)).filter((member: string) => member.includes(` ${service} `));
    if (all.length === count) return all;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a client announces its service until it is closed, in database 0", () => using(async (redis) => {
  const third = createClient({ url: `redis://${REDIS}/3` });
  await third.connect();
  for (const over of [third, new FakeIORedis(third, { autoResendUnfulfilledCommands: false })]) {
    const from = Date.now();
    const limits = new ratelimit.Client(over, { announce: "checkout" });
    const [member] = await records(redis, "checkout", 1);
    const [, since] = new RegExp(`^${ratelimit.library.server}@${ratelimit.library.version} checkout typescript (\\d+) \\S+:${process.pid}$`).exec(member!)!;
    ok(Math.abs(Number(since) - from) < 20_000, member);
    while ((await redis.ttl(announced)) < 86_000) await new Promise((resolve) => setTimeout(resolve, 5));
    await limits.close();
    await limits.close();
    await records(redis, "checkout", 0);
    equal(await third.exists(announced), 0);
  }
  await new ratelimit.Client(redis).close(); // without an announcement
  await third.disconnect();
}));

test("an announcement is renewed each minute, and keeps its time and the newest 50,000", () => using(async (redis) => {
  await redis.sendCommand(["EVAL", "for i = 1, 50002 do redis.call('ZADD', KEYS[1], ARGV[1] - i, 'shop_v1@1.0.0 old go 1 ' .. i) end", "1", announced, `${Date.now()}`]);
  await redis.zAdd(announced, { score: Date.now() - 86_500_000, value: "shop_v1@1.0.0 yesterday go 1 x" });
  const real = globalThis.setTimeout;
  let minutes = 0;
  (globalThis as any).setTimeout = (run: () => void, ms: number) => real(run, ms === 60_000 ? (minutes++, 1) : ms);
  const limits = new ratelimit.Client(redis, { announce: "renewed" });
  const [first] = await records(redis, "renewed", 1);
  while (minutes < 5) await new Promise((resolve) => real(() => resolve(undefined), 5));
  globalThis.setTimeout = real;
  deepEqual(await records(redis, "renewed", 1), [first]);
  equal(await redis.zCard(announced), 50_000);
  await records(redis, "yesterday", 0);
  await limits.close();
  await redis.del(announced);
}));

test("an announcement that fails fails no call, and is a warning", () => using(async (redis) => {
  const warnings: string[] = [];
  const warned = (warning: Error): number => warnings.push(warning.message);
  process.on("warning", warned);
  await redis.sendCommand(["ACL", "SETUSER", "silent", "reset", "on", ">secret", "~*", "+@all", "-zadd"]);
  await using(async (silent) => {
    const limits = new ratelimit.Client(silent, { announce: "silent" });
    equal((await limits.gcra({ subject: "silent", limit: 2, period: minute })).allowed, true);
    while (warnings.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await limits.close();
  }, `silent:secret@${REDIS}`);
  process.off("warning", warned);
  ok(warnings.length === 1 && /^announce ratelimit_v\d+@\S+: NOPERM .*; until it succeeds, rlfunc retire does not see this process$/.test(warnings[0]!), warnings[0]);
  for (const announce of ["", "a b", "a\n", "x".repeat(65), 5 as any, null as any]) {
    throws(() => new ratelimit.Client(redis, { announce }), is(RangeError, (e) => e.message.startsWith("announce must be 1 to 64 of the characters")));
  }
}));

test("an announcement keeps no process alive", () => using(async (redis) => {
  const code = (end: string): string => `
    const { createClient } = require("redis"), { ratelimit, minutes } = require("rlfunc-clients");
    const redis = createClient({ url: "redis://${REDIS}" });
    redis.connect().then(async () => {
      const limits = new ratelimit.Client(redis, { announce: "short" });
      await limits.gcra({ subject: "short", limit: 9, period: minutes(1) });
      while ((await redis.zRange("${announced}", 0, -1)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      ${end}
    });`;
  for (const [end, left] of [["await redis.quit();", 1], ["await limits.close(); await redis.quit();", 0], ["process.exit();", 1]] as const) {
    await redis.del(announced);
    execFileSync(process.execPath, ["-e", code(end)], { timeout: 20_000 });
    await records(redis, "short", left); // a process that ends without close is seen for another 15 minutes
  }
}));
