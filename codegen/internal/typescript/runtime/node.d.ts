// The little of Node.js that the runtime uses, so that it compiles without @types/node.

declare module "node:crypto" {
  export function createHash(algorithm: string): { update(data: string | Uint8Array): { digest(encoding: "hex"): string } };
}
declare module "node:fs" {
  export function readFileSync(path: string): Uint8Array;
}
declare module "node:path" {
  export function join(...parts: string[]): string;
}
declare var __dirname: string;
