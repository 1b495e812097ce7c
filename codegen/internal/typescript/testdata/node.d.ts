// The little of Node.js that the tests use: Debian has no @types/node.
declare module "node:test" {
  export function test(name: string, options: { timeout: number }, run: () => Promise<void>): void;
}
declare module "node:assert/strict" {
  export function equal(got: unknown, want: unknown, message?: string): void;
  export function deepEqual(got: unknown, want: unknown, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
  export function rejects(call: Promise<unknown>, want: (error: any) => boolean): Promise<void>;
  export function throws(call: () => unknown, want: (error: any) => boolean): void;
}
declare module "events" {
  export class EventEmitter {
    on(event: string, listener: (...args: any[]) => void): this;
  }
}
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function writeFileSync(path: string, text: string): void;
}
declare module "node:child_process" {
  export function execFileSync(file: string, args: string[], options: { timeout: number }): unknown;
}
declare module "node:path" {
  export function dirname(path: string): string;
}
declare const require: { resolve(name: string): string };
declare class Buffer extends Uint8Array {
  static from(data: string | Uint8Array, encoding?: string): Buffer;
  toString(encoding?: string): string;
}
declare const process: {
  env: Record<string, string | undefined>;
  pid: number;
  execPath: string;
  on(event: "warning", listener: (warning: Error) => void): void;
  off(event: "warning", listener: (warning: Error) => void): void;
  stdin: { once(event: string, listener: (data: unknown) => void): void };
  exit(code: number): void;
  kill(pid: number, signal: string): void;
};
