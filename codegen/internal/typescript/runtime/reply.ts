/** Reads a function's results in header order. docs/packed-rows.md and fcall.Result describe the format. */

import { ReplyError } from "./errors";
import type { Duration, Micros, Time } from "./units";
import { MAX_INT, strict, toText, type Fn, type Result } from "./wire";

const MAX_ROWS = 2 ** 16;
const PAIR_HEAD = 2 ** 6;
const PAIR_NUMBER = 2 ** 23;

const div = (n: number, by: number): number => (n - (n % by)) / by;
const isNumber = (r: Result): boolean => r.rows === undefined && !r.text && !r.values;
const above = (results: readonly Result[]): number => results.reduce((worth, r) => worth * (r.values || 1), 1);
const isWhole = (n: unknown): n is number => typeof n === "number" && Number.isInteger(n) && n >= 0 && n <= MAX_INT;

export class Reply {
  readonly ints: number[] = [];
  readonly texts: Uint8Array[] = [];
  private sent: readonly unknown[] = [];
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
    const group = results.find((r) => r.rows !== undefined)?.rows;
    const numbers = results.filter(isNumber).length;
    const worth = above(group ?? []);
    const both = group !== undefined && group.some((r) => r.values) && group.some(isNumber);
    if (typeof reply === "number") {
      const n = -(reply + 1);
      this.sent = [reply];
      if (n >= 0 && n < MAX_INT) {
        if (both) this.sent = [1 + above(results), n % worth, div(n, worth) * 1000];
        else if (group === undefined && numbers > 1) {
          const rest = div(n, PAIR_HEAD);
          this.sent = [n % PAIR_HEAD, (rest % PAIR_NUMBER) * 1000, div(rest, PAIR_NUMBER) * 1000];
        }
      }
    } else if (!Array.isArray(reply)) {
      throw this.fail("the reply", "be an array or a whole number", reply);
    } else {
      this.sent = reply;
      const rows = reply.slice(1);
      if (rows.length > 0 && reply[0] === -1 && both && rows.every(isWhole)) {
        this.sent = [1 + above(results) * rows.length, ...rows.map((n) => n % worth), ...rows.map((n) => div(n, worth) * 1000)];
      }
    }
    let head = this.number(0);
    const rest = div(head, above(results));
    let used = 1;
    const spans: [rows: number, first: number][] = [];
    for (const r of results) {
      if (r.rows === undefined) continue;
      const n: number = spans.length === 0 ? rest : this.number(used++);
      if (n > MAX_ROWS) throw this.fail(`element ${used}`, `have at most ${MAX_ROWS} rows`, n);
      spans.push([n, used]);
      used += n * (r.rows.filter((f) => !f.values).length + (r.rows.some((f) => f.values) ? 1 : 0));
    }
    let atNumber = used;
    let atText = used + numbers;
    used = atText + results.filter((r) => r.text).length;
    let folded = spans.length === 0 && numbers > 0 && this.sent.length === 1;
    if (spans.length === 0 && !folded && rest > 0) throw this.fail("element 1", "have nothing above its digits", head);
    if (this.sent.length > used) throw this.fail("the reply", `have at most ${used} elements`, this.sent.length);
    for (const r of results) {
      if (r.rows !== undefined) {
        const [rows, first] = spans.shift() as [number, number];
        this.columns(r.rows, rows, first);
      } else if (r.text) this.texts.push(this.bytes(atText++));
      else if (r.values) {
        this.ints.push(head % r.values);
        head = div(head, r.values);
      } else {
        this.ints.push(folded ? rest : this.number(atNumber));
        folded = false;
        atNumber++;
      }
    }
  }

  private columns(fields: readonly Result[], rows: number, first: number): void {
    this.ints.push(rows);
    const digits = fields.some((f) => f.values) ? 1 : 0;
    for (let i = 0; i < rows; i++) {
      let word = digits ? this.number(first + i) : 0;
      let at = first + digits * rows + i;
      for (const f of fields) {
        if (f.values) {
          this.ints.push(word % f.values);
          word = div(word, f.values);
        } else if (!f.text) {
          this.ints.push(this.number(at));
          at += rows;
        }
      }
      if (word > 0) throw this.fail(`element ${first + i + 1}`, "have nothing above its digits", this.number(first + i));
      for (const f of fields) {
        if (!f.text) continue;
        this.texts.push(this.bytes(at));
        at += rows;
      }
    }
  }

  private number(i: number): number {
    if (i >= this.sent.length) return 0;
    const n = this.sent[i];
    if (!isWhole(n)) throw this.fail(`element ${i + 1}`, `be a whole number from 0 to ${MAX_INT}`, n);
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

  map<T>(read: () => T): Map<string, T> {
    const pairs = this.rows((): [string, T] => [this.text(), read()]);
    const map = new Map(pairs);
    if (map.size !== pairs.length) throw this.fail("a map", "have each key once", `${pairs.length - map.size} repeated`);
    return map;
  }
}
