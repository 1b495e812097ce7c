/** Reads a function's results in header order. docs/reference/wire.md describes them. */

import { ReplyError } from "./errors";
import type { Duration, Micros, Time } from "./units";
import { MAX_INT, strict, toText, type Fn, type Result } from "./wire";

const MAX_ROWS = 2 ** 16;
const WIDE = 2 ** 20;
const PAIR_SMALL = 2 ** 5;
const PAIR_NUMBER = 2 ** 23;

const div = (n: number, by: number): number => (n - (n % by)) / by;
const isNumber = (r: Result): boolean => r.rows === undefined && !r.text && !r.values;
const above = (results: readonly Result[]): number => results.reduce((worth, r) => worth * (r.values || 1), 1);

export class Reply {
  readonly ints: number[] = [];
  readonly texts: Uint8Array[] = [];
  private sent: readonly unknown[] = [];
  private used = 0;
  private nextInt = 0;
  private nextText = 0;

  constructor(private readonly fn: Fn, sent: unknown) {
    this.decode(sent, fn.results);
  }

  private fail(field: string, must: string, got: unknown): ReplyError {
    const shown = got instanceof Uint8Array ? `text of ${got.length} bytes` : got === null ? "nothing" : Array.isArray(got) ? "an array" : String(got);
    return new ReplyError(
      `${this.fn.library}.${this.fn.name}`,
      `${field} must ${must}, got ${shown}; the server's library may differ from this client's`,
    );
  }

  private decode(reply: unknown, results: readonly Result[]): void {
    if (typeof reply === "number") {
      const alone = reply < 0 && results.some((r) => r.rows !== undefined) && !results.some((r) => r.text);
      this.sent = alone ? [1 + above(results), reply] : [reply]; // alone: the one row of a reply whose first result is 1
    } else if (Array.isArray(reply)) this.sent = reply;
    else throw this.fail("the reply", "be an array or a whole number", reply);
    this.record(results);
    if (this.sent.length > this.used) throw this.fail("the reply", `have at most ${this.used} elements`, this.sent.length);
  }

  /** Reads a record, and after it the rows of its groups. */
  private record(fields: readonly Result[]): void {
    const place = this.used++;
    const all = above(fields);
    const groups = fields.filter((r) => r.rows !== undefined).length;
    const most = groups + fields.filter(isNumber).length;
    const small = fields.some((r) => r.values === WIDE) ? all / WIDE : all;
    let n = this.number(place, -MAX_INT);
    let listed = false;
    let others = [0, 0];
    if (n >= 0) {
      others[0] = div(n, all);
      n %= all;
    } else {
      const how = (-1 - n) % 4;
      n = div(-1 - n, 4);
      if (how === 0) {
        listed = true;
        others = Array.from({ length: most + (small < all ? 1 : 0) }, () => this.number(this.used++));
      } else if (how === 1) {
        others[0] = div(n, all) * 1000;
        n %= all;
      } else if (how === 2) {
        const rest = div(n, PAIR_SMALL);
        others = [(rest % PAIR_NUMBER) * 1000, div(rest, PAIR_NUMBER) * 1000];
        n %= PAIR_SMALL;
      } else throw this.fail(`element ${place + 1}`, "be the number of a record", this.sent[place]);
    }
    const wide = div(n, small);
    n %= small;
    const beyond = !listed && others.slice(most).some((other) => other > 0);
    if (beyond || (wide > 0 && (listed || small === all))) {
      throw this.fail(`element ${place + 1}`, "have nothing above its digits", this.sent[place]);
    }
    let group = 0;
    let number = groups;
    let atText = this.used;
    this.used += fields.filter((r) => r.text).length;
    for (const r of fields) {
      if (r.rows !== undefined) this.group(r.rows, place, others[group++] ?? 0);
      else if (r.text) this.texts.push(this.bytes(atText++));
      else if (r.values === WIDE && !listed) this.ints.push(wide);
      else if (r.values && r.values !== WIDE) {
        this.ints.push(n % r.values);
        n = div(n, r.values);
      } else this.ints.push(others[number++] ?? 0);
    }
  }

  private group(fields: readonly Result[], place: number, rows: number): void {
    if (rows > MAX_ROWS) throw this.fail(`element ${place + 1}`, `have at most ${MAX_ROWS} rows`, rows);
    this.ints.push(rows);
    const texts = fields.every((f) => f.text);
    for (let i = 0; i < rows; i++) {
      if (texts) for (const _ of fields) this.texts.push(this.bytes(this.used++));
      else this.record(fields);
    }
  }

  private number(i: number, minimum = 0): number {
    if (i >= this.sent.length) return 0;
    const n = this.sent[i];
    if (typeof n !== "number" || !Number.isInteger(n) || n < minimum || n > MAX_INT) {
      throw this.fail(`element ${i + 1}`, `be a whole number from ${minimum} to ${MAX_INT}`, n);
    }
    return n;
  }

  private bytes(i: number): Uint8Array {
    if (i >= this.sent.length) return new Uint8Array();
    const raw = this.sent[i];
    if (!(raw instanceof Uint8Array)) throw this.fail(`element ${i + 1}`, "be text", raw);
    return raw;
  }

  count(): number {
    return this.ints[this.nextInt++] as number;
  }

  micros(): Micros {
    return this.count() as Micros;
  }

  duration(): Duration {
    return this.count() as Duration;
  }

  /** Reads a time; 0 is none. */
  time(): Time | undefined {
    const us = this.count();
    return us === 0 ? undefined : (us as Time);
  }

  flag(): boolean {
    const n = this.count();
    if (n > 1) throw this.fail("a bool", "be 0 or 1", n);
    return n === 1;
  }

  word<T extends string>(values: readonly T[]): T {
    const n = this.count();
    const value = values[n];
    if (value === undefined) throw this.fail("an enum", `be below ${values.length}`, n);
    return value;
  }

  private numberOf(form: RegExp, what: string, must: string, fits: (n: number) => boolean): number {
    const text = this.text();
    if (text !== "" && !form.test(text) || !fits(Number(text))) throw this.fail(what, must, `text of ${text.length} characters`);
    return Number(text);
  }

  /** Reads a whole number that may be below 0; the empty text is 0. */
  signed(): number {
    return this.numberOf(/^-?[1-9][0-9]{0,15}$/, "an int", "be a whole number below 2^53", (n) => Math.abs(n) < MAX_INT);
  }

  /** Reads a number; the empty text is 0. */
  decimal(): number {
    return this.numberOf(/^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$/, "a float", "be a finite number", Number.isFinite);
  }

  raw(): Uint8Array {
    return this.texts[this.nextText++] as Uint8Array;
  }

  text(): string {
    return toText(this.raw());
  }

  json(): unknown {
    const raw = this.raw();
    try {
      return JSON.parse(strict.decode(raw));
    } catch {
      throw this.fail("a json", "be JSON", raw);
    }
  }

  /** Stands for an optional result that is not there, whose place in the reply has been read. */
  none(_: unknown): undefined {
    return undefined;
  }

  rows<T>(read: () => T): T[] {
    return Array.from({ length: this.count() }, read);
  }
}
