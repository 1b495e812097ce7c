/** Keys, arguments and packed rows, byte for byte as in the Go client. */

import { createHash } from "node:crypto";
import { ArgumentError } from "./errors";
import type { Duration, Subject, Text, Time } from "./units";

/** The largest number of a call and of a reply, which a number holds exactly: no bigint is needed. */
export const MAX_INT = 2 ** 53;

/** The encoding of one result: a digit of `values` values, text, a group of rows, or a number. */
export interface Result {
  readonly values?: number;
  readonly text?: true;
  readonly rows?: readonly Result[];
}

/** One function of a library, as it is called. */
export interface Fn {
  readonly library: string;
  readonly name: string;
  readonly readOnly: boolean;
  readonly codes: readonly string[];
  readonly omissible: number;
  readonly results: readonly Result[];
}

const encoder = new TextEncoder();
export const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the bytes that are sent for a text, or undefined if a surrogate in it stands for no byte. */
export function toBytes(text: Text): Uint8Array | undefined {
  if (typeof text !== "string") return text;
  if (!/[\uD800-\uDFFF]/.test(text)) return encoder.encode(text);
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    if (code >= 0xdc80 && code <= 0xdcff) out.push(code - 0xdc00);
    else if (code >= 0xd800 && code <= 0xdfff) return undefined;
    else out.push(...encoder.encode(char));
  }
  return Uint8Array.from(out);
}

/** Returns the string of some bytes; those that are not UTF-8 become lone surrogates. */
export function toText(raw: Uint8Array): string {
  try {
    return strict.decode(raw);
  } catch {
    let out = "";
    for (let i = 0; i < raw.length; ) {
      const lead = raw[i] as number;
      const n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      try {
        if (i + n > raw.length) throw new RangeError("cut off");
        out += strict.decode(raw.subarray(i, i + n));
        i += n;
      } catch {
        out += String.fromCharCode(0xdc00 + lead);
        i++;
      }
    }
    return out;
  }
}

const latin = (raw: Uint8Array): string => {
  let out = "";
  for (const byte of raw) out += String.fromCharCode(byte);
  return out;
};

/** Returns the hash tag of a subject's keys: the subject if it is plain, else ~ and 128 bits of its SHA-256. */
export function tag(raw: Uint8Array): string {
  const plain = raw.length <= 64 ? latin(raw) : "";
  if (/^[A-Za-z0-9_.@+/=-]+$/.test(plain)) return plain;
  return "~" + createHash("sha256").update(raw).digest("hex").slice(0, 32);
}

/** Returns `<namespace>:{<tag>}:<suffix>`. */
export const key = (namespace: string, subject: Uint8Array, suffix: string): string => `${namespace}:{${tag(subject)}}:${suffix}`;

/** Returns the key of one row of a group, `<namespace>:{<tag>}:<suffix>:<name>`. */
export const keyOf = (namespace: string, subject: Uint8Array, suffix: string, name: Uint8Array): string =>
  `${key(namespace, subject, suffix)}:${tag(name)}`;

/** Returns the hash slot of a key: the CRC-16/XMODEM of its tag, modulo 16384. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of encoder.encode(key.slice(key.indexOf("{") + 1, key.indexOf("}")))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % 16384;
}

/** Throws a RangeError if a namespace cannot begin a key. */
export function checkName(what: string, name: string): void {
  if (typeof name !== "string" || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new RangeError(`${what} must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got ${JSON.stringify(name)?.slice(0, 34)}`);
  }
}

/** Encoded rows of a packed group, for any number of calls. Keep it: the server decodes each pack once. */
export class Pack<Row> {
  /** Makes a pack of other rows another type. It has no value. */
  declare protected readonly row: (row: Row) => Row;
  /** The rows as they are sent. */
  readonly text: string;
  /** The number of rows. */
  readonly length: number;
  /** The rows that it was made of. */
  readonly rows: readonly Row[];
  /** The rest of each row's keys after the tag. */
  readonly suffixes: readonly (readonly string[])[];

  constructor(
    group: string,
    required: number,
    rows: readonly Row[],
    cells: (a: Args, row: Row) => void,
    keys: (row: Row) => readonly (readonly [string, Text])[],
  ) {
    const a = new Args(`pack ${group}`, "");
    let text = "";
    this.suffixes = rows.map((row, i) => {
      a.group = group;
      a.row = i;
      a.args = [];
      cells(a, row);
      const sent = a.args;
      while (sent.length > required && sent[sent.length - 1]?.length === 0) sent.pop();
      text += sent.map(cell).join(",") + ";";
      if (a.problems.length > 0) return [];
      return keys(row).map(([suffix, name]) => `}:${suffix}:${tag(toBytes(name) as Uint8Array)}`);
    });
    a.check();
    this.text = text;
    this.length = rows.length;
    this.rows = rows.map((row) => ({ ...row }));
  }
}

const cell = (raw: Uint8Array): string =>
  latin(raw).replace(/[^A-Za-z0-9_.@+/=-]/g, (c) => "%" + c.charCodeAt(0).toString(16).padStart(2, "0"));

/** The keys and arguments of one call, in header order, and every argument that is out of bounds. */
export class Args {
  keys: string[] = [];
  args: Uint8Array[] = [];
  problems: string[] = [];
  group = "";
  row = 0;

  constructor(readonly name: string, private readonly namespace: string) {}

  private reject(name: string, must: string, got = ""): void {
    const where = [...(this.group === "" ? [] : [this.group, this.row]), ...(name === "" ? [] : [name])].join(".");
    this.problems.push(`${where} must ${must}${got === "" ? "" : `, got ${got}`}`);
    this.args.push(new Uint8Array());
  }

  private add(word: string): void {
    this.args.push(encoder.encode(word));
  }

  private bytes(name: string, text: Text, must: string): Uint8Array | undefined {
    if (typeof text !== "string" && !(text instanceof Uint8Array)) {
      this.reject(name, must, typeof text);
      return undefined;
    }
    const raw = toBytes(text);
    if (raw === undefined) this.reject(name, "be text that UTF-8 can encode", "a lone surrogate");
    return raw;
  }

  private subject(name: string, subject: Subject): Uint8Array | undefined {
    const raw = this.bytes(name, subject, "be a string or bytes");
    if (raw?.length !== 0) return raw;
    this.reject(name, "not be empty");
    return undefined;
  }

  /** Rejects an argument that a call or a row does not have: a misspelt optional one would be left out. */
  only(given: object, ...names: string[]): void {
    for (const name of Object.keys(given)) if (!names.includes(name)) this.reject(name, `not be given: the names are ${names.join(", ")}`);
  }

  key(name: string, subject: Subject, suffix: string): void {
    const raw = this.subject(name, subject);
    if (raw !== undefined) this.keys.push(key(this.namespace, raw, suffix));
  }

  subjects(name: string, subjects: readonly Subject[], suffix: string, most: number): void {
    if (!Array.isArray(subjects)) {
      this.reject(name, "be an array of subjects", typeof subjects);
      return;
    }
    if (subjects.length > most) {
      this.reject(name, `be at most ${most} subjects`, String(subjects.length));
      return;
    }
    for (const subject of subjects) this.key(name, subject, suffix);
  }

  /** Adds a key that ends in an argument or a field, which text checks. */
  rowKey(name: string, subject: Subject, suffix: string, value: Text): void {
    const raw = this.subject(name, subject);
    const row = typeof value === "string" || value instanceof Uint8Array ? toBytes(value) : undefined;
    if (raw !== undefined && row !== undefined) this.keys.push(keyOf(this.namespace, raw, suffix, row));
  }

  packKeys(name: string, pack: Pack<any> | undefined, subject: Subject, of: readonly Subject[] = []): void {
    const suffixes = pack?.suffixes ?? [];
    if (!Array.isArray(of)) {
      this.reject(`${name}_of`, "be an array of subjects", typeof of);
      return;
    }
    if (of.length > 0 && of.length !== suffixes.length) {
      this.reject(`${name}_of`, `have a subject for each of ${suffixes.length} rows, or none`, String(of.length));
      return;
    }
    suffixes.forEach((row, i) => {
      const raw = this.subject(of.length > 0 ? `${name}_of` : name, of[i] ?? subject);
      if (raw !== undefined) for (const suffix of row) this.keys.push(`${this.namespace}:{${tag(raw)}${suffix}`);
    });
  }

  pack(name: string, pack: Pack<any> | undefined, least: number, most: number): void {
    if (pack !== undefined && !(pack instanceof Pack)) {
      this.reject(name, "be what a pack function of this package returns", typeof pack);
      return;
    }
    const n = pack?.length ?? 0;
    if (n < least || n > most) this.reject(name, `have ${least} to ${most} rows`, String(n));
    else this.add(pack?.text ?? "");
  }

  rows(name: string, n: number, least: number, most: number): void {
    if (n < least || n > most) this.reject(name, `have ${least} to ${most} rows`, String(n));
    else this.add(String(n));
    this.group = name;
  }

  private number(name: string, v: number | undefined, least: number, most: number, optional: boolean, what: string): void {
    if (v === undefined && optional) this.add("");
    else if (typeof v !== "number" || !Number.isInteger(v) || v < least || v > most) {
      this.reject(name, `be ${what} from ${least} to ${most}`, String(v));
    } else this.add(String(v));
  }

  integer(name: string, v: number | undefined, least: number, most: number, optional = false): void {
    this.number(name, v, least, most, optional, "a whole number");
  }

  decimal(name: string, v: number | undefined, least: number, most: number, optional = false): void {
    if (v === undefined && optional) this.add("");
    else if (typeof v !== "number" || !Number.isFinite(v) || v < least || v > most) this.reject(name, mustNumber(least, most), String(v));
    else this.add(String(v));
  }

  duration(name: string, v: Duration | undefined, least: number, most: number, optional = false): void {
    this.number(name, v, least, most, optional, "whole microseconds");
  }

  time(name: string, v: Time | undefined, least: number, most: number, optional = false): void {
    this.number(name, v, least, most, optional, "whole microseconds since 1970");
  }

  flag(_name: string, v: boolean | undefined, optional = false): void {
    this.add(v ? "1" : optional ? "" : "0");
  }

  text(name: string, v: Text | undefined, least: number, most: number, optional = false): void {
    if (v === undefined && optional) {
      this.add("");
      return;
    }
    const must = `be text of ${least} to ${most} bytes`;
    const raw = this.bytes(name, v as Text, must);
    if (raw === undefined) return;
    if (raw.length < least || raw.length > most) this.reject(name, must, `${raw.length} bytes`);
    else this.args.push(raw);
  }

  json(name: string, v: unknown, least: number, most: number, optional = false): void {
    if (v === undefined && optional) {
      this.add("");
      return;
    }
    let text: string | undefined;
    try {
      text = JSON.stringify(v, finite);
    } catch {
      text = undefined; // a cycle, a bigint
    }
    if (text === undefined) this.reject(name, "be a value that JSON has", typeof v);
    else this.text(name, text, least, most);
  }

  word(name: string, v: string | undefined, values: readonly string[], optional = false): void {
    if (v === undefined && optional) this.add("");
    else if (v === undefined || !values.includes(v)) this.reject(name, `be one of ${values.join(", ")}`, JSON.stringify(v)?.slice(0, 34));
    else this.add(v);
  }

  /** Rejects a call, or the row that begins the text, that breaks a rule of the header. */
  must(text: string, row = ""): void {
    this.problems.push(row + text);
  }

  /** Rejects rows of which two are alike and have one subject. */
  differ(text: string, rows: readonly (readonly unknown[])[], of: readonly Subject[] = []): void {
    const cells = rows.map((row, i) => JSON.stringify([...row, of[i]].map(sent)));
    if (new Set(cells).size < cells.length) this.problems.push(text);
  }

  check(): void {
    if (this.problems.length > 0) throw new ArgumentError(this.name, this.problems);
  }

  /** Returns the arguments that are sent: optional ones at the end are left out if they are omitted. */
  words(omissible: number): (string | Uint8Array)[] {
    this.check();
    let n = this.args.length;
    for (; omissible > 0 && n > 0 && this.args[n - 1]?.length === 0; omissible--) n--;
    return [String(this.keys.length), ...this.keys, ...this.args.slice(0, n)];
  }
}

const mustNumber = (least: number, most: number): string => {
  if (least === -Infinity && most === Infinity) return "be a finite number";
  if (least === -Infinity) return `be a number at most ${most}`;
  return most === Infinity ? `be a number at least ${least}` : `be a number from ${least} to ${most}`;
};

/** Keeps JSON.stringify from writing null for NaN and infinities. */
const finite = (_: string, v: unknown): unknown => {
  if (typeof v === "number" && !Number.isFinite(v)) throw new RangeError(String(v));
  return v;
};

/** Returns text as it is sent, and anything else as it is. */
const sent = (v: unknown): unknown =>
  typeof v === "string" || v instanceof Uint8Array ? latin(toBytes(v) ?? new Uint8Array()) : v === undefined ? null : v;

/** Reports whether two values are sent as the same one. */
export const same = (one: unknown, other: unknown): boolean => sent(one) === sent(other);

/** Returns the rows that a pack was made of. */
export const rowsOf = <Row>(pack: Pack<Row> | undefined): readonly Row[] => pack?.rows ?? [];

/** Reports whether an optional text has been given. */
export const given = (v: Text | Pack<any> | undefined): boolean => v !== undefined && v.length > 0;
