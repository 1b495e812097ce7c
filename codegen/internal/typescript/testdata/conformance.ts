// Runs the vectors that all languages share, then what only TypeScript has. REDIS is a server; PROXY stands before it and loses
// replies; VECTORS and KEYS are the files.

import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test as register } from "node:test";
import { createClient } from "redis";
import * as rl from "rlfunc-clients";
import { everything, micros, minutes, ratelimit } from "rlfunc-clients";

const { REDIS, PROXY, VECTORS, KEYS } = process.env as { [name: string]: string };
const minute = minutes(1);
const errors: { [name: string]: new (...args: any[]) => Error } = {
  "argument": rl.ArgumentError, "state": rl.StateError, "code": rl.CodeError, "reply": rl.ReplyError, "not run": rl.NotRunError,
  "no permission": rl.NoPermissionError, "unknown": rl.OutcomeUnknownError,
};

type Client = ReturnType<typeof createClient>;

/** Runs with a connected node-redis client that is closed in the end. */
function test(name: string, run: (redis: Client) => Promise<void>, address = REDIS): void {
  register(name, { timeout: 60_000 }, async () => {
    const redis = createClient({ url: `redis://${address}` });
    redis.on("error", () => undefined); // a lost connection is one
    await redis.connect();
    try {
      await run(redis);
    } finally {
      if (!redis.isReady) await new Promise((resolve) => redis.on("ready", () => resolve(undefined))); // else the new one stays open
      await redis.disconnect();
    }
  });
}

const is = (type: new (...args: any[]) => Error, says = "") => (e: any): boolean => {
  ok(e instanceof type && e.message.includes(says), String(e));
  return true;
};

const camel = (name: string): string => name.replace(/_(.)/g, (_, c) => c.toUpperCase());

/** Returns an argument of a vector, or with wanted a result. */
function given(value: any, wanted = false): any {
  if (Array.isArray(value)) return value.map((one) => given(one, wanted));
  if (typeof value !== "object") return value;
  if ("bytes" in value) return wanted ? text(value.bytes) : Uint8Array.from(Buffer.from(value.bytes, "hex"));
  if ("repeat" in value) return value.repeat[0].repeat(value.repeat[1]);
  for (const unit of ["us", "at"]) if (unit in value) return value[unit];
  if ("float" in value) return Number(value.float);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), given(one, wanted)]));
}

/** Bytes that are not UTF-8 become lone surrogates. The vectors have no others above 7f. */
const text = (hex: string): string =>
  Buffer.from(hex, "hex").toString("latin1").replace(/[\x80-\xff]/g, (c) => String.fromCharCode(0xdc00 + c.charCodeAt(0)));

/** Makes a function of the library answer with a body. */
const stub = (redis: Client, call: string, body: string): Promise<unknown> => redis.sendCommand([
  "FUNCTION", "LOAD", "REPLACE", "#!lua name=everything_v2\n" +
  `redis.register_function{function_name = 'everything_v2_${call}', callback = function() ${body} end, flags = {'no-writes'}}`,
]);

test("vectors", async (redis) => {
  const c: any = new everything.Client(redis, { namespace: "ns" });
  for (const v of JSON.parse(readFileSync(VECTORS!, "utf8"))) {
    if (v.server !== undefined) await stub(redis, v.call, v.server);
    try {
      const got = await c[camel(v.call)]({ subject: v.subject, ...given(v.args) });
      for (const time of ["since", "later"]) for (const row of [got, ...got.items ?? []]) if (time in row) row[time] ??= 0;
      deepEqual(got, given(v.want, true));
    } catch (error) {
      if (v.error === undefined || !(error instanceof rl.CallError)) throw error;
      equal(error.constructor, errors[v.error], `${JSON.stringify(v)} ${error}`);
      is(rl.CallError, v.says)(error);
    }
  }
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
});

test("keys are those of Go", async (redis) => {
  const table = JSON.parse(readFileSync(KEYS!, "utf8"));
  const c = new everything.Client(redis, { namespace: "ns" });
  const none = [...table.no_bytes, "", new Uint8Array(), undefined, 5];
  for (const subject of none) await rejects(c.fail({ subject, how: "not" }), is(rl.ArgumentError));
  for (const v of table.keys) {
    const got = await c.pays({ subject: v.text, payer: v.text, payee: Uint8Array.from(Buffer.from(v.bytes, "hex")) });
    deepEqual([got.same, got.to], [true, v.key_of.replace("}:log:", "}:account:")]);
  }
  for (const v of table.namespaces) {
    if (v.legal) new everything.Client(redis, { namespace: v.text });
    else throws(() => new everything.Client(redis, { namespace: v.text }), is(RangeError, "namespace must be"));
  }
});

test("an argument that there is not is refused, and one of another type", async (redis) => {
  const c = new ratelimit.Client(redis);
  const gcra = (p: object): Promise<unknown> => c.gcra({ subject: "u", limit: 9, ...p } as any);
  await rejects(gcra({ window: minute }), is(rl.ArgumentError, "ratelimit.gcra: unknown argument window: did you mean period?"));
  await rejects(gcra({ period: minute, cots: 5 }), is(rl.ArgumentError, "unknown argument cots: did you mean burst or "));
  await rejects(gcra({ period: 60 }), is(rl.ArgumentError, "period must be"));
  await rejects(gcra({}), is(rl.ArgumentError, "period must be"));
  await rejects(c.gcra({ subject: "u" } as any), is(rl.ArgumentError, "limit must be"));
  await rejects(c.check({ subject: "u", limits: [{}] } as any), is(rl.ArgumentError, "limits.0.kind must be"));
  for (const cost of [null, {}, []]) await rejects(gcra({ period: minute, cost }), is(rl.ArgumentError, "arguments must be"));
  for (const cost of [2 ** 53 + 2, 0.5, -1, NaN, "x"]) await rejects(gcra({ period: minute, cost }), is(rl.ArgumentError, "cost must be"));
  const row = { name: "a", kind: "gcra", limit: 9, window: minute, bust: 5 } as any;
  await rejects(c.check({ subject: "u", limits: [row] }), is(rl.ArgumentError, "unknown argument limits.0.bust"));
});

// Each of these is a mistake of units or of names, which tsc reports: without an error the directive is one.
export const mistakes = (c: ratelimit.Client, e: everything.Client): unknown => [
  // @ts-expect-error a number is not a duration
  c.fixedWindow({ subject: "u", limit: 10, window: 60 }),
  // @ts-expect-error a duration is not a count
  c.fixedWindow({ subject: "u", limit: minute, window: minute }),
  // @ts-expect-error money is not a duration
  c.fixedWindow({ subject: "u", limit: 10, window: micros(5) }),
  // @ts-expect-error there is no such value
  e.fail({ subject: "e", how: "never" }),
  // @ts-expect-error window is missing
  c.fixedWindow({ subject: "u", limit: 10 }),
];

test("clients and options that make no sense are refused", async (redis) => {
  const others = [{ isPipeline: true, callBuffer: 0 }, { isCluster: true, callBuffer: 0 }];
  const wrong = [...others, undefined, "redis://127.0.0.1", redis.multi()] as any[];
  for (const client of wrong) throws(() => new ratelimit.Client(client), is(TypeError, "client of ratelimit: want a client"));
  throws(() => new ratelimit.Client(createClient({ legacyMode: true })), is(TypeError, "legacyMode"));
  throws(() => new ratelimit.Client(Object.assign(createClient(), { withTypeMapping: () => undefined })), is(TypeError, "install redis@4"));
  for (const timeout of [0, -1, NaN, Infinity, rl.days(25)] as any[]) {
    throws(() => new ratelimit.Client(redis, { timeout }), is(RangeError, "timeout must be"));
  }
  const closed = createClient({ url: "redis://127.0.0.1:1" });
  await rejects(new everything.Client(closed).fail({ subject: "e", how: "not" }), is(rl.NotRunError, "closed"));
  await redis.sendCommand(["ACL", "SETUSER", "limited", "on", "nopass", "~*", "+@all", "-fcall", "-function"]);
  const limited = createClient({ url: `redis://limited:x@${REDIS}` });
  await limited.connect();
  await rejects(new everything.Client(limited).fail({ subject: "e", how: "not" }), is(rl.NoPermissionError, "NOPERM"));
  await limited.disconnect();
  equal(everything.library.identity, "everything_v2@2.3.4");
});

test("a missing library is loaded, with LF, unless autoLoad is false", async (redis) => {
  const file = `${dirname(require.resolve("rlfunc-clients"))}/../lua/everything.lua`;
  const code = readFileSync(file, "utf8");
  await new everything.Client(redis).fail({ subject: "e", how: "not" });
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
  const off = new everything.Client(redis, { autoLoad: false });
  await rejects(off.fail({ subject: "e", how: "not" }), is(rl.NotLoadedError, "rlfunc deploy"));
  writeFileSync(file, code.replace(/\n/g, "\r\n"));
  const c = new everything.Client(redis);
  const all = await Promise.all(Array.from({ length: 8 }, () => c.fail({ subject: "e", how: "not" })));
  writeFileSync(file, code);
  deepEqual(all.map((r) => r.number), Array(8).fill(1));
  const [library] = await redis.sendCommand(["FUNCTION", "LIST", "LIBRARYNAME", "everything_v2", "WITHCODE"]) as unknown[][];
  equal(library?.slice(-1)[0], code);
  await stub(redis, "other", "return 1");
  await rejects(new everything.Client(redis).fail({ subject: "e", how: "not" }), is(rl.NotLoadedError, "rlfunc deploy"));
  await redis.sendCommand(["FUNCTION", "DELETE", "everything_v2"]);
});

const remaining = async (over: rl.Redis, namespace: string, cost = 1, timeout = rl.seconds(5)): Promise<number> =>
  (await new ratelimit.Client(over, { namespace, timeout }).fixedWindow({ subject: "u", limit: 10, window: minute, cost })).remaining;

test("a call that may have run is never sent twice", async (redis) => {
  await rejects(remaining(redis, "lose-reply"), is(rl.OutcomeUnknownError));
  await rejects(remaining(redis, "hold-reply", 1, rl.milliseconds(300)), is(rl.OutcomeUnknownError));
  await redis.disconnect();
  await redis.connect();
  const direct = createClient({ url: `redis://${REDIS}` });
  await direct.connect();
  equal(await remaining(redis, "kept"), 9);
  for (const namespace of ["lose-reply", "hold-reply"]) equal(await remaining(direct, namespace, 0), 9);
  await direct.disconnect();
}, PROXY);

/** An ioredis client as its documentation describes callBuffer, over a socket of node-redis. */
class FakeIORedis {
  status = "ready";
  constructor(private readonly redis: Client, readonly options: { autoResendUnfulfilledCommands?: boolean; keyPrefix?: string }) {}
  async callBuffer(...args: [command: string, ...args: (string | Buffer | number)[]]): Promise<unknown> {
    equal(typeof args[0], "string");
    try {
      return await this.redis.sendCommand(args as any, { returnBuffers: true } as any);
    } catch (error) {
      const { constructor, message } = error as Error;
      throw constructor.name === "ErrorReply" ? new ReplyError(message) : new Error("Connection is closed.");
    }
  }
}
class ReplyError extends Error {}

test("ioredis works, and settings that send twice are refused", async (redis) => {
  const safe = { autoResendUnfulfilledCommands: false };
  const io = new FakeIORedis(redis, safe);
  equal((await new everything.Client(io, { namespace: "ns" }).pays({ subject: "s", payer: "a", payee: "b" })).from, "ns:{s}:account:a");
  await rejects(new everything.Client(io).fail({ subject: "e", how: "declared" }), is(rl.CodeError));
  await rejects(remaining(io, "lose-reply"), is(rl.OutcomeUnknownError));
  for (const options of [{}, { ...safe, keyPrefix: "p:" }, { ...safe, reconnectOnError: () => 2 }, { ...safe, stringNumbers: true }]) {
    throws(() => new everything.Client(new FakeIORedis(redis, options)), is(TypeError, "of ioredis"));
  }
  io.status = "end";
  await rejects(new everything.Client(io).fail({ subject: "e", how: "not" }), is(rl.NotRunError));
}, PROXY);
