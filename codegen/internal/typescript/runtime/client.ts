/** What generated clients run on: keys, words and replies, and a call that node-redis or ioredis sends once. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ArgumentError, CallError, CodeError, NoPermissionError, NotLoadedError, NotRunError } from "./errors";
import { OutcomeUnknownError, ReplyError, StateError } from "./errors";
import { seconds, toMilliseconds, type Duration, type Subject, type Text } from "./units";

/** What a client needs of a node-redis 4 client. node-redis never sends a written command again. */
export interface NodeRedis {
  readonly isReady?: boolean;
  readonly isOpen: boolean;
  sendCommand(args: any[], options?: { returnBuffers?: boolean }): Promise<unknown>;
}

/** What a client needs of node-redis 4's createCluster. It sends a command again only where a node has redirected it. */
export interface NodeCluster {
  getSlotMaster(slot: number): unknown;
  sendCommand(firstKey: any, isReadonly: boolean, args: any[], options?: { returnBuffers?: boolean }): Promise<unknown>;
}

/** What a client needs of an ioredis client of one server, which has autoResendUnfulfilledCommands: false. */
export interface IORedis {
  readonly status: string;
  readonly options: {
    autoResendUnfulfilledCommands?: boolean;
    reconnectOnError?: unknown;
    keyPrefix?: string | undefined;
    stringNumbers?: boolean | undefined;
  };
  callBuffer(command: string, ...args: any[]): Promise<unknown>;
}

/** What a client sends its calls over. */
export type Redis = NodeRedis | NodeCluster | IORedis;

/** Options of a client. */
export interface Options {
  /** Begins every key: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to rl, for all libraries. */
  namespace?: string;
  /** Loads a missing library, and never replaces one. Defaults to true. */
  autoLoad?: boolean;
  /** Longest wait for a connection, and then for the reply: above 0, and at most days(24). Defaults to 5 s. */
  timeout?: Duration;
}

/** A library's names. Its code is in the folder lua. */
export interface Library {
  readonly name: string;
  readonly version: string;
  readonly server: string;
  /**
   * What a connection tells `rlfunc plan`, `deploy` and `retire` about its program: "ratelimit_v1@1.2.0". Several are joined by
   * "+". node-redis 4.6.11 and newer take it as clientInfoTag.
   */
  readonly identity: string;
}

/** The fields of a group's row, and what follows the tag in each of its keys. */
export interface Row {
  readonly fields: readonly Field[];
  readonly keys?: (row: any) => readonly (readonly Part[])[];
}

/** The name of an argument, with a question mark if a call may omit it, or of a group with its rows. */
export type Field = string | readonly [name: string, row: Row];
type Part = string | number | Uint8Array | undefined;
type Word = string | Uint8Array;

/** One function of a library, as it is called. */
export interface Fn<R> {
  readonly name: string;
  /** The subjects that its keys are made of. */
  readonly subjects: readonly string[];
  /** Its arguments, in the order of the wire. */
  readonly args: readonly Field[];
  readonly result: Reader<R>;
  readonly readOnly?: boolean;
  /** The codes that it declares beside RLARG and RLSTATE. */
  readonly codes?: readonly string[];
}

const { Buffer } = globalThis as unknown as { Buffer: { from(data: Word): Uint8Array } };
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns a text as it is sent: as it is, or the bytes that it has lone surrogates for. */
function sendable(text: Text): Word {
  if (typeof text !== "string" || !/\p{Surrogate}/u.test(text)) return text;
  return Uint8Array.from(Array.from(text).flatMap((char) => {
    const byte = (char.codePointAt(0) as number) - 0xdc00;
    if (byte >= 0x80 && byte <= 0xff) return [byte];
    if (/\p{Surrogate}/u.test(char)) throw new RangeError("text must have no lone surrogates");
    return [...encoder.encode(char)];
  }));
}

/** Returns the string of some bytes; those that are not UTF-8 become lone surrogates. */
function toText(raw: Uint8Array): string {
  const decode = (from: number, to: number): string | undefined => {
    try {
      return to > raw.length ? undefined : decoder.decode(raw.subarray(from, to));
    } catch {
      return undefined;
    }
  };
  let out = "";
  for (let at = 0; at < raw.length; ) {
    const length = [raw.length - at, 1, 2, 3, 4].find((n) => decode(at, at + n) !== undefined) ?? 0;
    out += decode(at, at + length) || String.fromCharCode(0xdc00 + (raw[at] as number));
    at += length || 1;
  }
  return out;
}

/** Returns the hash tag of a subject's keys: the subject if it is plain, else ~ and 128 bits of its SHA-256. */
function tag(text: Text): string {
  const raw = sendable(text);
  const plain = typeof raw === "string" ? raw : raw.length <= 64 ? toText(raw) : "";
  return /^[A-Za-z0-9_.@+/=-]{1,64}$/.test(plain) ? plain : "~" + createHash("sha256").update(raw).digest("hex").slice(0, 32);
}

/** Returns an argument as it is sent. Whether it may have this value is for the server to say. */
function word(value: unknown): Word {
  if (value === undefined || typeof value === "boolean") return value === undefined ? "" : String(Number(value));
  if (typeof value === "string" || value instanceof Uint8Array) return sendable(value);
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  throw new RangeError(`arguments must be numbers, texts, bools or rows, got ${value === null ? "null" : typeof value}`);
}

function rows(name: string, row: Row, given: unknown): Word | undefined {
  if (!Array.isArray(given)) throw new RangeError(`${name} must be an array of rows`);
  const cell = (w: Word): string => {
    if (typeof w === "string" && /^[A-Za-z0-9_.@+/=-]*$/.test(w)) return w;
    const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
    return Array.from(Buffer.from(w), (byte) => String.fromCharCode(byte).replace(/[^A-Za-z0-9_.@+/=-]/, `%${hex(byte)}`)).join("");
  };
  return given.map((one, i) => words(`${name}.${i}.`, row.fields, one, ["of"]).map(cell).join(",") + ";").join("");
}

/** Returns fields of an object in order, without those at the end that may be omitted and are. */
function words(where: string, fields: readonly Field[], given: any, besides: readonly string[]): Word[] {
  const named = fields.map((f) => (typeof f === "string" ? f : f[0]));
  const names = named.map((n) => n.replace("?", ""));
  for (const name of Object.keys(given)) {
    if (names.includes(name) || besides.includes(name)) continue;
    const missing = named.filter((n) => !n.endsWith("?") && given[n] === undefined);
    const left = missing.length > 0 ? missing : names.filter((n) => given[n] === undefined);
    throw new RangeError(`unknown argument ${where}${name}: did you mean ${left.join(" or ")}?`);
  }
  const values = fields.map((f, i) => {
    const value = given[names[i] as string];
    return typeof f === "string" || value === undefined ? value : rows(names[i] as string, f[1], value);
  });
  while (values[values.length - 1] === undefined && named[values.length - 1]?.endsWith("?")) values.pop();
  return values.map(word);
}

/** Reads a result from the words of a reply, and takes them away. */
export type Reader<T> = (words: unknown[], at: string) => T;

function need(ok: boolean, at: string, must: string, sent: unknown): void {
  if (ok) return;
  const got = sent instanceof Uint8Array ? `text of ${sent.length} bytes` : sent === undefined ? "nothing" : String(sent);
  throw new RangeError(`${at} must be ${must}, got ${got}; the server's library may differ from this client's`);
}

export const number: Reader<any> = (words, at) => {
  const sent = words.shift();
  need(typeof sent === "number", at, "a whole number", sent);
  return sent;
};

export const bool: Reader<boolean> = (words, at) => {
  const sent = words.shift();
  need(sent === 0 || sent === 1, at, "0 or 1", sent);
  return sent === 1;
};

/** Reads a time; 0 is none. */
export const time: Reader<any> = (words, at) => number(words, at) || undefined;

export const text: Reader<string> = (words, at) => {
  const sent = words.shift();
  need(sent instanceof Uint8Array, at, "text", sent);
  return toText(sent as Uint8Array);
};

export const float: Reader<number> = (words, at) => {
  const sent = text(words, at);
  const value = Number(sent || NaN);
  need(!Number.isNaN(value), at, "a number", sent);
  return value;
};

/** Reads one of the words of an enum. */
export const oneOf = <T extends string>(values: readonly T[]): Reader<T> => (words, at) => {
  const value = text(words, at) as T;
  need(values.includes(value), at, `one of ${values.join(", ")}`, value);
  return value;
};

/** Reads an object's fields in order. What follows them is a newer library's, and nobody reads it. */
export const record = <R>(fields: { readonly [K in keyof R]: Reader<R[K]> }): Reader<R> => (words, at) => {
  const all = Object.entries<Reader<unknown>>(fields);
  return Object.fromEntries(all.map(([name, read]) => [name, read(words, at && `${at}.${name}` || name)])) as R;
};

export const list = <T>(row: Reader<T>): Reader<T[]> => (words, at) => {
  const rows: T[] = [];
  const count = number(words, at);
  const width = count > 0 ? number(words, at) : 0;
  while (rows.length < count) rows.push(row(words.splice(0, width), `${at}.${rows.length}`));
  return rows;
};

/** A failure below: the server's error, or a connection without an answer. */
class Failure extends Error {
  constructor(text: string, readonly kind: "reply" | "not sent" | "lost", readonly cause?: unknown) {
    super(text);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const DENIED = ["NOPERM", "NOAUTH", "WRONGPASS", "DENIED"];
/** What Redis answers before it starts a function. */
const REFUSED = [
  "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "LOADING", "MASTERDOWN", "BUSY", "OOM", "NOREPLICAS", "MISCONF", "CROSSSLOT",
];
const MAX_TIMEOUT_MS = 24 * 86_400_000; // setTimeout fires at once after 2^31 ms or more

/** Returns why a Redis client cannot be used, if so. */
function unfit(redis: any): string | undefined {
  const sends = typeof redis === "object" && redis !== null && ("callBuffer" in redis || "sendCommand" in redis);
  if (!sends || redis.isPipeline || redis.isCluster) {
    return "want a client of node-redis 4, its createCluster, or a client of ioredis for one server";
  }
  const o = redis.options ?? {};
  if (!("callBuffer" in redis)) {
    if ("withTypeMapping" in redis) return "node-redis 5 is not supported; install redis@4";
    return o.legacyMode ? "set no legacyMode of node-redis: its commands return nothing" : undefined;
  }
  if (o.autoResendUnfulfilledCommands !== false) {
    return "set autoResendUnfulfilledCommands of ioredis to false: it sends a call again that may have run";
  }
  if (o.reconnectOnError) return "set no reconnectOnError of ioredis: it may send a call again that may have run";
  if (o.keyPrefix) return "set no keyPrefix of ioredis: other clients would use other keys; set namespace";
  return o.stringNumbers ? "set no stringNumbers of ioredis: results would not be numbers" : undefined;
}

/** What every library's client is made of. Its members begin with _, as no function of a library does. */
export class BaseClient {
  private readonly _namespace: string;
  private readonly _autoLoad: boolean;
  private readonly _timeoutMs: number;
  private _loadFrom = -Infinity;

  constructor(private readonly _redis: Redis, private readonly _library: Library, o: Options) {
    this._namespace = o.namespace ?? "rl";
    this._autoLoad = o.autoLoad ?? true;
    this._timeoutMs = toMilliseconds(o.timeout ?? seconds(5));
    const problem = unfit(_redis);
    if (problem !== undefined) throw new TypeError(`client of ${_library.name}: ${problem}`);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(this._namespace)) {
      throw new RangeError(`namespace must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got ${this._namespace}`);
    }
    if (!(this._timeoutMs > 0 && this._timeoutMs <= MAX_TIMEOUT_MS)) throw new RangeError("timeout must be above 0 and at most days(24)");
  }

  /** Returns `<namespace>:{<tag>}:<suffix>`, with `:<part>` for each part that is given. */
  protected _key(subject: Subject, ...parts: readonly Part[]): string {
    if (!(typeof subject === "string" || subject instanceof Uint8Array) || subject.length === 0) {
      throw new RangeError("a subject must be a string or bytes, and not be empty");
    }
    const given = parts.filter((part) => part !== undefined && part !== "" && !(part instanceof Uint8Array && part.length === 0));
    const suffix = given.map((part) => tag(typeof part === "number" ? String(part) : part as Text)).join(":");
    return `${this._namespace}:{${tag(subject)}}:${suffix}`;
  }

  /** Returns the keys of rows. */
  protected _keys(subject: Subject, row: Row, given: readonly any[] = []): string[] {
    return given.flatMap((one) => (row.keys as (row: any) => Part[][])(one).map((parts) => this._key(one.of ?? subject, ...parts)));
  }

  protected async _call<R>(fn: Fn<R>, given: object, keys: () => string[]): Promise<R> {
    const name = `${this._library.name}.${fn.name}`;
    let command: Word[];
    let key: string;
    try {
      const args = words("", fn.args, given, fn.subjects);
      const all = keys();
      key = all[0] ?? "";
      command = [fn.readOnly ? "FCALL_RO" : "FCALL", `${this._library.server}_${fn.name}`, String(all.length), ...all, ...args];
    } catch (error) {
      throw error instanceof RangeError || error instanceof TypeError ? new ArgumentError(name, error.message) : error;
    }
    for (let loaded = false; ; loaded = true) {
      let sent: unknown;
      try {
        sent = await this._send(command, key);
      } catch (cause) {
        const error = this._explain(name, fn, cause as Failure);
        if (!(error instanceof NotLoadedError)) throw error;
        if (loaded) this._loadFrom = performance.now() + 1000; // no load for each call of what a load does not help
        if (loaded || !this._autoLoad || performance.now() < this._loadFrom) throw error;
        await this._load(name, key);
        continue;
      }
      try {
        return fn.result(Array.isArray(sent) ? [...sent] : [sent], "");
      } catch (error) {
        throw error instanceof RangeError ? new ReplyError(name, error.message) : error;
      }
    }
  }

  private async _load(name: string, key: string): Promise<void> {
    // Git may have checked it out with CRLF.
    const code = toText(readFileSync(join(__dirname, "..", "lua", `${this._library.name}.lua`))).replace(/\r\n/g, "\n");
    try {
      await this._send(["FUNCTION", "LOAD", code], key);
    } catch (cause) {
      // After ERR the library may be there, and after a lost reply it may have been loaded: the next call finds out.
      const { kind, message } = cause as Failure;
      if (kind !== "reply" || message.startsWith("ERR ")) return;
      throw new NotLoadedError(name, `cannot load ${this._library.server}: ${message}`, "", cause);
    }
  }

  /** Sends a command once, as soon as there is a connection. Its error is a Failure. */
  private async _send(command: readonly Word[], key: string): Promise<unknown> {
    const redis: any = this._redis;
    const clustered = "getSlotMaster" in redis;
    const ready = (): boolean => clustered || ("callBuffer" in redis ? redis.status === "ready" : redis.isOpen && (redis.isReady ?? true));
    for (const deadline = performance.now() + this._timeoutMs; !ready(); await sleep(5)) {
      if (redis.status === "end" || redis.isOpen === false) throw new Failure("the Redis client is closed; call connect()", "not sent");
      if (performance.now() >= deadline) throw new Failure(`no connection in ${this._timeoutMs} ms`, "not sent");
    }
    const [name, ...rest] = command.map((w) => (typeof w === "string" ? w : Buffer.from(w))) as [string, ...Word[]];
    const options = { returnBuffers: true };
    const answer: Promise<unknown> = "callBuffer" in redis ? redis.callBuffer(name, ...rest)
      : clustered ? redis.sendCommand(key, false, [name, ...rest], options) : redis.sendCommand([name, ...rest], options);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Failure(`no reply in ${this._timeoutMs} ms`, "lost")), this._timeoutMs);
    });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      if (error instanceof Failure) throw error;
      const names = [];
      for (let at = Object.getPrototypeOf(error ?? {}); at; at = Object.getPrototypeOf(at)) names.push(at.constructor.name);
      const kind = names.some((n) => n === "ErrorReply" || n === "ReplyError") ? "reply"
        : names.some((n) => n === "ClientClosedError" || n === "ClientOfflineError" || n === "TypeError") ? "not sent" : "lost";
      throw new Failure(error instanceof Error ? error.message : String(error), kind, error);
    } finally {
      clearTimeout(timer);
      answer.catch(() => undefined); // the race may be over
    }
  }

  /** Returns what a failure proves. */
  private _explain(name: string, fn: Fn<unknown>, failure: Failure): CallError {
    const text = failure.message;
    const cause = failure.cause ?? failure;
    const code = failure.kind === "reply" ? (text.split(" ", 1)[0] as string) : "";
    const rest = text.slice(code.length + 1);
    if (code === "RLARG") {
      const differs = `; ${this._library.server} on the server is not of this client's version:` +
        " update the service, or run `rlfunc deploy`";
      return new ArgumentError(name, rest.startsWith(`${fn.name} must be called with `) ? rest + differs : rest, code, cause);
    }
    if (code === "RLSTATE") {
      const [key = "", ...problem] = rest.split(": ");
      return new StateError(name, key, problem.join(": "), cause);
    }
    if (fn.codes?.includes(code)) return new CodeError(name, text, code, cause);
    if (code !== "" && !text.includes(" script: ") && !text.includes("user_function:")) {
      if (text === "ERR Function not found") {
        const why = `${this._library.server} is not loaded on this server, or in a version without this function; run \`rlfunc deploy\``;
        return new NotLoadedError(name, why, code, cause);
      }
      if (DENIED.includes(code)) {
        return new NoPermissionError(name, `${text}; \`rlfunc acl service\` prints what the user needs`, code, cause);
      }
      if (REFUSED.includes(code) || text.startsWith("ERR unknown command")) {
        return new NotRunError(name, text.split(",", 1)[0] as string, code, cause); // behind a comma the server quotes arguments
      }
    }
    return new (fn.readOnly || failure.kind === "not sent" ? NotRunError : OutcomeUnknownError)(name, text, code, cause);
  }
}
