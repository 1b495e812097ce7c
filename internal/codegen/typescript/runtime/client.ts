/** Sends a call at most once if it may have run, over node-redis or ioredis, and loads a missing library. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ArgumentError, CallError, CodeError, NotLoadedError, NotRunError, OutcomeUnknownError, StateError } from "./errors";
import { Reply } from "./reply";
import { seconds, toMilliseconds, type Duration } from "./units";
import { Args, checkNamespace, type Fn } from "./wire";

/** What a client needs of a node-redis 4 client. node-redis never sends a written command again. */
export interface NodeRedis {
  readonly isReady?: boolean;
  readonly isOpen: boolean;
  sendCommand(args: any[], options?: { returnBuffers?: boolean }): Promise<unknown>;
}

/**
 * What a client needs of an ioredis client. It must have autoResendUnfulfilledCommands: false, and neither reconnectOnError nor
 * keyPrefix: the first two send a command again that may have run.
 */
export interface IORedis {
  readonly status: string;
  readonly options: { autoResendUnfulfilledCommands?: boolean; reconnectOnError?: unknown; keyPrefix?: string | undefined };
  callBuffer(command: string, ...args: any[]): Promise<unknown>;
}

/** Options of a client. */
export interface Options {
  /** Begins every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to the library's name. */
  namespace?: string;
  /** How often a call is sent while each failure proves that nothing ran. Defaults to 3. */
  maxAttempts?: number;
  /** Loads a missing library, and never replaces one. Defaults to true. */
  autoLoad?: boolean;
  /** Longest wait for a connection and a reply, for each attempt. Defaults to 5 s. */
  timeout?: Duration;
}

/** A library's names. Its code is in the folder lua. */
export interface Library {
  readonly name: string;
  readonly version: string;
  readonly server: string;
}

/** A failure below: the server's error text, or a lost connection. */
class Failure extends Error {
  constructor(text: string, readonly kind: "reply" | "not sent" | "lost", readonly cause?: unknown) {
    super(text);
  }
}

const RETRIED = new Set(["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "LOADING", "MASTERDOWN", "BUSY"]);
const REFUSED = new Set(["OOM", "NOREPLICAS", "MISCONF", "CROSSSLOT", "NOPERM", "NOAUTH", "WRONGPASS", "DENIED"]);
const LOAD_INTERVAL_MS = 1000;
const POLL_MS = 5;

interface RawBuffer {
  from(data: string | Uint8Array): Uint8Array;
}
const { Buffer } = globalThis as unknown as { Buffer: RawBuffer };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  const names: string[] = [];
  for (let at = Object.getPrototypeOf(error ?? {}); at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
    names.push(String(at.constructor?.name));
  }
  if (names.some((n) => n === "ErrorReply" || n === "ReplyError")) return new Failure(text, "reply", error);
  if (names.some((n) => n === "ClientClosedError" || n === "ClientOfflineError") || text === "The queue is full") {
    return new Failure(text, "not sent", error);
  }
  return new Failure(text, "lost", error);
}

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
  if (code === "RLARG") return [new ArgumentError(name, [rest], cause), false];
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
function unfit(redis: NodeRedis | IORedis): string | undefined {
  if ("slots" in redis || "nodes" in redis || !("callBuffer" in redis || "isOpen" in redis)) {
    return "want a node-redis or ioredis client of one server, not a cluster's";
  }
  if (!("callBuffer" in redis)) return undefined;
  const o = redis.options;
  if (o.autoResendUnfulfilledCommands !== false) return "set autoResendUnfulfilledCommands of ioredis to false: it sends a call again that may have run";
  if (o.reconnectOnError) return "set no reconnectOnError of ioredis: it may send a call again that may have run";
  if (o.keyPrefix) return "set no keyPrefix of ioredis: other clients would use other keys; set namespace";
  return undefined;
}

/** What every library's client is made of. Its members begin with _, as no function of a library does. */
export class BaseClient {
  private readonly _redis: NodeRedis | IORedis;
  private readonly _library: Library;
  private readonly _namespace: string;
  private readonly _maxAttempts: number;
  private readonly _autoLoad: boolean;
  private readonly _timeoutMs: number;
  private _loading: Promise<void> | undefined;
  private _loadedAt = -Infinity;

  constructor(redis: NodeRedis | IORedis, library: Library, o: Options) {
    this._namespace = o.namespace ?? library.name;
    checkNamespace(this._namespace);
    this._maxAttempts = o.maxAttempts ?? 3;
    if (!Number.isInteger(this._maxAttempts) || this._maxAttempts < 1) {
      throw new RangeError(`client of ${library.name}: maxAttempts must be 1 or more, got ${this._maxAttempts}`);
    }
    this._autoLoad = o.autoLoad ?? true;
    this._timeoutMs = toMilliseconds(o.timeout ?? seconds(5));
    const problem = unfit(redis);
    if (problem !== undefined) throw new TypeError(`client of ${library.name}: ${problem}`);
    this._redis = redis;
    this._library = library;
  }

  protected _start(fn: Fn): Args {
    return new Args(`${fn.library}.${fn.name}`, this._namespace);
  }

  protected async _call(fn: Fn, a: Args): Promise<Reply> {
    const verb = fn.readOnly ? "FCALL_RO" : "FCALL";
    const command = [verb, `${this._library.server}_${fn.name}`, ...a.words(fn.omissible)];
    let loaded = false;
    for (let attempt = 1; ; attempt++) {
      let sent: unknown;
      try {
        sent = await this._send(command);
      } catch (cause) {
        const [error, again] = classify(fn, failureOf(cause));
        if (error instanceof NotLoadedError && this._autoLoad && !loaded) {
          loaded = true;
          attempt--;
          await this._load(fn);
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
        if (!again || attempt >= this._maxAttempts) throw error;
        await sleep(10 * 2 ** Math.min(attempt - 1, 4) * (0.5 + Math.random() / 2));
        continue;
      }
      return new Reply(fn, sent);
    }
  }

  /** Loads the library, at most once a second. Calls that find it missing meanwhile wait for the same load. */
  private async _load(fn: Fn): Promise<void> {
    if (this._loading === undefined) {
      if (Date.now() - this._loadedAt < LOAD_INTERVAL_MS) return;
      this._loading = this._loadOnce(fn).finally(() => {
        this._loadedAt = Date.now();
        this._loading = undefined;
      });
    }
    return this._loading;
  }

  private async _loadOnce(fn: Fn): Promise<void> {
    const code = readFileSync(join(__dirname, "..", "lua", `${this._library.name}.lua`));
    try {
      await this._send(["FUNCTION", "LOAD", code]);
    } catch (cause) {
      // After ERR the library may be there, and after a lost reply it may have been loaded: the next call finds out.
      const f = failureOf(cause);
      if (f.kind === "reply" && !f.message.startsWith("ERR ")) {
        throw new NotLoadedError(`${fn.library}.${fn.name}`, `cannot load ${this._library.server}: ${f.message}`, "", cause);
      }
    }
  }

  /** Sends a command once. It is not queued while there is no connection: a queued command could run after its caller gave up. */
  private async _send(command: (string | Uint8Array)[]): Promise<unknown> {
    const deadline = Date.now() + this._timeoutMs;
    while (!this._ready()) {
      if (Date.now() >= deadline) throw new Failure(`no connection in ${this._timeoutMs} ms`, "not sent");
      await sleep(POLL_MS);
    }
    const words = command.map((w) => (typeof w === "string" ? w : Buffer.from(w)));
    const redis = this._redis;
    const answer = "callBuffer" in redis ? redis.callBuffer(words[0] as string, ...words.slice(1)) : redis.sendCommand(words, { returnBuffers: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Failure(`no reply in ${this._timeoutMs} ms`, "lost")), Math.max(1, deadline - Date.now()));
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
      answer.catch(() => undefined); // the race may be over
    }
  }

  private _ready(): boolean {
    const redis = this._redis;
    if ("callBuffer" in redis) {
      if (redis.status === "end") throw new Failure("the ioredis client is closed", "not sent");
      return redis.status === "ready";
    }
    if (!redis.isOpen) throw new Failure("the node-redis client is closed; call connect()", "not sent");
    return redis.isReady ?? true;
  }
}
