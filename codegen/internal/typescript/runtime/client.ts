/** Sends a call at most once if it may have run, to one server or a cluster, and loads a missing library. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Announcement, CLIENTS, type Tell } from "./announce";
import { Cluster, end, type NodeClient, type Redirect } from "./cluster";
import { ArgumentError, CallError, CodeError, NotLoadedError, NotRunError, OutcomeUnknownError, StateError } from "./errors";
import { Reply } from "./reply";
import { Failure, failureOf, send, sleep, whenReady, type Find, type IORedis, type NodeRedis, type Server } from "./send";
import { days, seconds, toMilliseconds, type Duration } from "./units";
import { Args, checkName, toBytes, toText, type Fn } from "./wire";

const REQUIRES = /^-- rlfunc: .* requires=(\S+)/m;
// Each has its version in a field of INFO. Redis is last: the others have a redis_version too, for old clients.
const PRODUCTS = ["Valkey", "Dragonfly", "Kvrocks", "Garnet", "Redis"];

/** Returns a server's product and version by INFO's text. Both are empty if it has no version. */
function identify(info: string): [product: string, version: string] {
  const field = (name: string): string => new RegExp(`^${name}:(.+)`, "m").exec(info)?.[1]?.trim() ?? "";
  for (const product of PRODUCTS) {
    const version = field(`${product.toLowerCase()}_version`);
    if (version !== "") return [field("rlfunc_embedded") === "" ? product : "embedded", version];
  }
  return ["", ""];
}

/** Returns a text of a version's first three numbers that compares as they do. */
const sortable = (version: string): string => [0, 1, 2].map((i) => `${Number(version.split(".")[i]) || 0}`.padStart(9, "0")).join(".");

/** Returns why a library does not run on a server and what to do, or an empty text if it does. */
export function refusal(library: string, required: string, info: string): string {
  const [product, version] = identify(info);
  const servers = required.split(",").map((one) => one.split("-") as [string, string]);
  const runs = servers.some(([name, least]) => name === product.toLowerCase() && sortable(version) >= sortable(least));
  if (runs || product === "embedded") return "";
  const wanted = servers.map(([name, least]) => `${PRODUCTS.find((p) => p.toLowerCase() === name)} ${least}`).join(" or ");
  const found = product === "" ? "a server of unknown version" : `${product} ${version}`;
  return `${library} requires ${wanted} or later, and this is ${found}; upgrade the server`;
}

/** What a client sends its calls over. */
export type Redis = NodeRedis | IORedis | Cluster;

/** Options of a client. */
export interface Options {
  /** Begins every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to the library's name. */
  namespace?: string;
  /** How often a call is sent while each failure proves that nothing ran. Defaults to 3. */
  maxAttempts?: number;
  /** Loads a missing library, and never replaces one. Defaults to true. */
  autoLoad?: boolean;
  /** Longest wait for a connection and a reply, for each attempt: above 0, and at most days(24). Defaults to 5 s. */
  timeout?: Duration;
  /**
   * Names the service: each minute the client then tells the server that it uses the library, until close(), so that `rlfunc plan`,
   * `deploy` and `retire` see it. 1 to 64 of A-Z a-z 0-9 _ - . Defaults to no announcement.
   */
  announce?: string;
}

/** A library's names. Its code is in the folder lua. */
export interface Library {
  readonly name: string;
  readonly version: string;
  readonly server: string;
}

const RETRIED = new Set(["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "LOADING", "MASTERDOWN", "BUSY"]);
const REFUSED = new Set(["OOM", "NOREPLICAS", "MISCONF", "CROSSSLOT", "NOPERM", "NOAUTH", "WRONGPASS", "DENIED"]);
const DIFFERS =
  "on the server is newer than this client: update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`";
const LOAD_INTERVAL_MS = 1000;
const MAX_TIMEOUT = days(24); // setTimeout fires at once after 2^31 ms or more

/** Returns what a failure proves, and whether the call may be sent again. */
function classify(fn: Fn, f: Failure): [error: CallError, again: boolean] {
  const name = `${fn.library}.${fn.name}`;
  const text = f.message;
  const cause = f.cause ?? f;
  if (f.kind !== "reply") {
    if (f.kind === "not sent" || fn.readOnly) return [new NotRunError(name, text, "", cause), true];
    return [new OutcomeUnknownError(name, text, "", cause), false];
  }
  const space = text.indexOf(" ");
  const code = space < 0 ? text : text.slice(0, space);
  const rest = space < 0 ? "" : text.slice(space + 1);
  if (code === "RLARG") {
    const differs = rest.startsWith(`${fn.name} must be called with `) ? `; ${fn.library} ${DIFFERS}` : "";
    return [new ArgumentError(name, [rest + differs], cause), false];
  }
  if (code === "RLSTATE") {
    const colon = rest.indexOf(": ");
    return [new StateError(name, colon < 0 ? rest : rest.slice(0, colon), colon < 0 ? "unreadable" : rest.slice(colon + 2), cause), false];
  }
  if (fn.codes.includes(code)) return [new CodeError(name, code, rest, cause), false];
  if (text.includes(" script: ") || text.includes("user_function:")) return [new OutcomeUnknownError(name, text, code, cause), false];
  if (text === "ERR Function not found") {
    return [new NotLoadedError(name, `${fn.library} lacks the function on this server; run \`rlfunc deploy\``, code, cause), false];
  }
  if (RETRIED.has(code) || text === "ERR max number of clients reached") return [new NotRunError(name, text, code, cause), true];
  if (REFUSED.has(code)) return [new NotRunError(name, text, code, cause), false];
  if (text.startsWith("ERR unknown command")) return [new NotRunError(name, "the server has no FCALL: functions need Redis 7", code, cause), false];
  return [new OutcomeUnknownError(name, text, code, cause), false];
}

/** Returns why a Redis client cannot be used, if so. */
function unfit(redis: Redis): string | undefined {
  if (redis instanceof Cluster) return undefined;
  const isObject = typeof redis === "object" && redis !== null;
  if (!isObject || "slots" in redis || "nodes" in redis || "isPipeline" in redis || !("callBuffer" in redis || "isOpen" in redis)) {
    return "want a node-redis or ioredis client of one server, or a Cluster of this package";
  }
  if (!("callBuffer" in redis)) {
    if ("withTypeMapping" in redis) return "node-redis 5 is not supported; install redis@4";
    const o = (redis as { options?: { legacyMode?: boolean } }).options;
    return o?.legacyMode ? "set no legacyMode of node-redis: its commands return nothing" : undefined;
  }
  const o = redis.options;
  if (o.autoResendUnfulfilledCommands !== false) return "set autoResendUnfulfilledCommands of ioredis to false: it sends a call again that may have run";
  if (o.reconnectOnError) return "set no reconnectOnError of ioredis: it may send a call again that may have run";
  if (o.keyPrefix) return "set no keyPrefix of ioredis: other clients would use other keys; set namespace";
  if (o.stringNumbers) return "set no stringNumbers of ioredis: results would not be numbers";
  return undefined;
}

/** The only server of a client that is not a cluster's. */
class Single {
  private readonly server: Server;

  constructor(redis: NodeRedis | IORedis) {
    this.server = { name: "the client", redis, pending: 0 };
  }

  find(): Server | string {
    const redis = this.server.redis;
    if ("callBuffer" in redis) {
      if (redis.status === "end") throw new Failure("the ioredis client is closed", "not sent");
    } else if (!redis.isOpen) throw new Failure("the node-redis client is closed; call connect()", "not sent");
    return whenReady(this.server);
  }

  failed(): undefined {
    return undefined; // there is no other
  }

  /** Returns a client of database 0, whose connection ends after use. */
  forAnnouncements(_?: Redirect): { find: Find; done: () => void } {
    const given = this.server.redis;
    const redis = given.duplicate("callBuffer" in given ? { db: 0 } : { url: undefined, database: 0 }) as NodeClient;
    redis.on("error", () => undefined);
    redis.connect().catch(() => undefined); // ioredis connects by itself
    return { find: () => whenReady({ name: "the client", redis, pending: 0 }), done: () => ("callBuffer" in redis ? void redis.disconnect() : end(redis)) };
  }
}

/** A load of a library, and when the last one ended. */
interface Load {
  running?: Promise<void> | undefined;
  endedAt: number;
}

/** What every library's client is made of. Its members begin with _, as no function of a library does. */
export class BaseClient {
  private readonly _redis: Single | Cluster;
  private readonly _library: Library;
  private readonly _namespace: string;
  private readonly _maxAttempts: number;
  private readonly _autoLoad: boolean;
  private readonly _timeoutMs: number;
  private readonly _loads = new Map<string, Load>(); // by server
  private readonly _announcement: Announcement | undefined;

  constructor(redis: Redis, library: Library, o: Options) {
    this._namespace = o.namespace ?? library.name;
    checkName("namespace", this._namespace);
    this._maxAttempts = o.maxAttempts ?? 3;
    if (!Number.isInteger(this._maxAttempts) || this._maxAttempts < 1) {
      throw new RangeError(`client of ${library.name}: maxAttempts must be 1 or more, got ${this._maxAttempts}`);
    }
    this._autoLoad = o.autoLoad ?? true;
    if (typeof this._autoLoad !== "boolean") throw new TypeError(`client of ${library.name}: autoLoad must be true or false, got ${String(o.autoLoad)}`);
    const timeout = o.timeout ?? seconds(5);
    if (typeof timeout !== "number" || !(timeout > 0 && timeout <= MAX_TIMEOUT)) {
      throw new RangeError(`client of ${library.name}: timeout must be above 0 and at most days(24), got ${String(timeout)} microseconds`);
    }
    this._timeoutMs = toMilliseconds(timeout);
    const problem = unfit(redis);
    if (problem !== undefined) throw new TypeError(`client of ${library.name}: ${problem}`);
    this._redis = redis instanceof Cluster ? redis : new Single(redis);
    this._library = library;
    if (o.announce === undefined) return;
    checkName("announce", o.announce);
    this._announcement = new Announcement(`${library.server}@${library.version}`, o.announce, (run) => this._announcing(run));
  }

  /** Ends the announcement, if there is one. The Redis client stays open. */
  async close(): Promise<void> {
    await this._announcement?.end();
  }

  /** The slot may have moved since the last announcement, so it follows one redirect. */
  private async _announcing(run: (tell: Tell) => Promise<void>, redirect?: Redirect): Promise<void> {
    const { find, done } = this._redis.forAnnouncements(redirect);
    let server: Server | string = "";
    try {
      await run((...command) => send(() => (server = find()), command, this._timeoutMs, redirect?.asking));
    } catch (cause) {
      const other = this._redis.failed(failureOf(cause), server);
      if (other === undefined || redirect !== undefined) throw cause;
      await this._announcing(run, other);
    } finally {
      done();
    }
  }

  protected _start(fn: Fn): Args {
    return new Args(`${fn.library}.${fn.name}`, this._namespace);
  }

  protected async _call(fn: Fn, a: Args): Promise<Reply> {
    const verb = fn.readOnly ? "FCALL_RO" : "FCALL";
    const command = [verb, `${this._library.server}_${fn.name}`, ...a.words(fn.omissible)];
    let loaded = false;
    let redirect: Redirect | undefined;
    for (let attempt = 1; ; attempt++) {
      let sent: unknown;
      let server: Server | string = "";
      try {
        sent = await send(() => (server = this._redis.find(a.keys[0] ?? "", redirect)), command, this._timeoutMs, redirect?.asking);
      } catch (cause) {
        const failure = failureOf(cause);
        const [error, again] = classify(fn, failure);
        if (error instanceof NotLoadedError && this._autoLoad && !loaded && typeof server !== "string") {
          loaded = true;
          attempt--;
          await this._load(fn, server);
          continue;
        }
        if (error instanceof NotLoadedError && loaded) {
          throw new NotLoadedError(
            error.function,
            `the server lacks the function even after a load: it holds another version of ${this._library.server}, ` +
              "or a node without it answers; a client never replaces a library: run `rlfunc deploy`",
            error.code,
            error.cause,
          );
        }
        if (again || failure.kind === "lost") redirect = this._redis.failed(failure, server);
        if (!again || attempt >= this._maxAttempts) throw error;
        await sleep(10 * 2 ** Math.min(attempt - 1, 4) * (0.5 + Math.random() / 2));
        continue;
      }
      return new Reply(fn, sent);
    }
  }

  /** Loads the library, at most once a second for each server. Calls that find it missing meanwhile wait for the same load. */
  private async _load(fn: Fn, server: Server): Promise<void> {
    const load = this._loads.get(server.name) ?? { endedAt: -Infinity };
    this._loads.set(server.name, load);
    if (load.running === undefined) {
      if (performance.now() - load.endedAt < LOAD_INTERVAL_MS) return;
      load.running = this._loadOnce(fn, server).finally(() => {
        load.endedAt = performance.now();
        load.running = undefined;
      });
    }
    return load.running;
  }

  private async _loadOnce(fn: Fn, server: Server): Promise<void> {
    // Git may have checked it out with CRLF.
    const code = toText(readFileSync(join(__dirname, "..", "lua", `${this._library.name}.lua`))).replace(/\r\n/g, "\n");
    const required = REQUIRES.exec(code)?.[1];
    if (required !== undefined) {
      let info: unknown;
      try {
        info = await send(() => whenReady(server), ["INFO", "server"], this._timeoutMs);
      } catch {
        // The user may not run it.
      }
      const { server: name, version } = this._library;
      const why = info === undefined ? "" : refusal(`${name} ${version}`, required, info instanceof Uint8Array ? toText(info) : "");
      if (why !== "") throw new NotLoadedError(`${fn.library}.${fn.name}`, `cannot load ${name}: ${why}`, "", undefined);
    }
    try {
      await send(() => whenReady(server), ["FUNCTION", "LOAD", toBytes(code)!], this._timeoutMs);
    } catch (cause) {
      // After ERR the library may be there, and after a lost reply it may have been loaded: the next call finds out.
      const f = failureOf(cause);
      if (f.kind === "reply" && !f.message.startsWith("ERR ")) {
        throw new NotLoadedError(`${fn.library}.${fn.name}`, `cannot load ${this._library.server}: ${f.message}`, "", cause);
      }
    }
  }
}
