/** Sends one command once, over node-redis or ioredis. */

/** What a client needs of a node-redis 4 client. node-redis never sends a written command again. */
export interface NodeRedis {
  readonly isReady?: boolean;
  readonly isOpen: boolean;
  sendCommand(args: any[], options?: { returnBuffers?: boolean }): Promise<unknown>;
  duplicate(options?: any): unknown;
}

/**
 * What a client needs of an ioredis client. It must have autoResendUnfulfilledCommands: false, and neither reconnectOnError nor
 * keyPrefix: the first two send a command again that may have run.
 */
export interface IORedis {
  readonly status: string;
  readonly options: {
    autoResendUnfulfilledCommands?: boolean;
    reconnectOnError?: unknown;
    keyPrefix?: string | undefined;
    stringNumbers?: boolean | undefined;
  };
  callBuffer(command: string, ...args: any[]): Promise<unknown>;
  duplicate(options?: any): unknown;
}

/** A server, and how many commands it has not answered. */
export interface Server {
  readonly name: string; // in a cluster, "HOST:PORT"
  readonly redis: NodeRedis | IORedis;
  pending: number;
}

/** A failure below: the server's error text, or a lost connection. */
export class Failure extends Error {
  constructor(text: string, readonly kind: "reply" | "not sent" | "lost", readonly cause?: unknown) {
    super(text);
  }
}

const POLL_MS = 5;

interface RawBuffer {
  from(data: string | Uint8Array): Uint8Array;
}
const { Buffer } = globalThis as unknown as { Buffer: RawBuffer };

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function failureOf(error: unknown): Failure {
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

/** Returns the server if a command is written as soon as it is sent. A queued one could run after its caller gave up. */
export function whenReady(server: Server): Server | string {
  const redis = server.redis;
  const ready = "callBuffer" in redis ? redis.status === "ready" : redis.isOpen && (redis.isReady ?? true);
  return ready ? server : `${server.name} is not connected`;
}

/** Returns a server that is ready, or why there is none yet. */
export type Find = () => Server | string;

/** Sends a command once, as soon as a server is ready. ASKING goes before it on the same connection. */
export async function send(find: Find, command: readonly (string | Uint8Array)[], timeoutMs: number, asking = false): Promise<unknown> {
  const deadline = performance.now() + timeoutMs;
  let server: Server | string;
  while (typeof (server = find()) === "string") {
    if (performance.now() >= deadline) throw new Failure(`no connection in ${timeoutMs} ms: ${server}`, "not sent");
    await sleep(POLL_MS);
  }
  const redis = server.redis;
  const write = (words: readonly (string | Uint8Array)[]): Promise<unknown> => {
    const sent = words.map((w) => (typeof w === "string" ? w : Buffer.from(w)));
    return "callBuffer" in redis ? redis.callBuffer(sent[0] as string, ...sent.slice(1)) : redis.sendCommand(sent, { returnBuffers: true });
  };
  if (asking) write(["ASKING"]).catch(() => undefined);
  const answer = write(command);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Failure(`no reply in ${timeoutMs} ms`, "lost")), Math.max(1, deadline - performance.now()));
  });
  server.pending++;
  try {
    return await Promise.race([answer, late]);
  } finally {
    server.pending--;
    clearTimeout(timer);
    answer.catch(() => undefined); // the race may be over
  }
}
