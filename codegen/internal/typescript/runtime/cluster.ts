/** Finds the node of a Redis Cluster that a call goes to: the primary of its key's hash slot. */

import { CLIENTS } from "./announce";
import { Failure, send, whenReady, type Find, type NodeRedis, type Server } from "./send";
import { slotOf, toText } from "./wire";

const REFRESH_INTERVAL_MS = 1000;
const REFRESH_TIMEOUT_MS = 1000;

/** What a cluster needs of node-redis 4's createClient: a client of one node that is not connected yet. */
export interface NodeClient extends NodeRedis {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  on(event: "ready" | "error", listener: () => void): unknown;
}

/** Where a node is. */
export interface Address {
  host: string;
  port: number;
}

/** A reply in place of a call's: another node of the cluster is to run it. */
export interface Redirect {
  readonly node: string;
  readonly asking: boolean;
}

interface Node extends Server {
  readonly redis: NodeClient;
}

type SlotRange = [first: number, last: number, ...nodes: [host: Uint8Array | null, port: number, ...rest: unknown[]][]];

function addressOf(node: string): Address {
  const [, host, digits] = /^\[?([^\s/@[\]]+)\]?:(\d+)$/.exec(node) ?? [];
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65535) throw new TypeError(`node of a cluster must be HOST:PORT, got ${JSON.stringify(node)}`);
  return { host, port };
}

/** Ends a client. One that is connecting would leave its connection open, so it is ended after that. */
export function end(redis: NodeClient): void {
  const disconnect = (): void => void (redis.isOpen && redis.disconnect().catch(() => undefined));
  if (redis.isReady) disconnect();
  else redis.on("ready", disconnect), redis.on("error", disconnect);
}

/**
 * The nodes of a Redis Cluster, for any number of clients. It has one connection to each primary that calls go to, follows MOVED and ASK,
 * and finds the new primary after a failover.
 */
export class Cluster {
  private readonly seeds: readonly string[];
  private readonly create: (address: Address) => NodeClient;
  private readonly nodes = new Map<string, Node>();
  private owners: readonly (string | undefined)[] = []; // by hash slot
  private listed = new Set<string>();
  private refreshing = false;
  private refreshedAt = -Infinity;
  private problem = "no node has answered";
  private closed = false;

  /** Takes one or more nodes as "HOST:PORT", and what makes a node-redis 4 client of any node: `(socket) => createClient({ socket })`. */
  constructor(nodes: readonly string[], create: (address: Address) => NodeClient) {
    if (nodes.length === 0) throw new TypeError("a cluster needs one or more nodes");
    nodes.forEach(addressOf);
    this.seeds = nodes;
    this.create = create;
  }

  /** Ends all connections. Calls that wait for a reply fail with an OutcomeUnknownError. */
  close(): void {
    this.closed = true;
    for (const node of this.nodes.values()) end(node.redis);
    this.nodes.clear();
  }

  /** Used by clients. Returns the node of a key or of a redirect, or why there is none yet. */
  find(key: string, redirect: Redirect | undefined): Server | string {
    const name = redirect?.node ?? this.owners[slotOf(key)];
    const node = name === undefined ? `unknown hash slot, ${this.problem}` : this.node(name);
    if (typeof node === "string") this.refresh();
    return node;
  }

  /** Used by clients. Returns where a failed call is to be sent next, if the failure says so. Reads the slots again if they may have changed. */
  failed(failure: Failure, from: Server | string): Redirect | undefined {
    const redirect = failure.kind === "reply" ? /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(failure.message) : null;
    if (redirect?.[1] !== "ASK") this.refresh();
    if (redirect === null) return undefined;
    const host = redirect[2] || (typeof from === "string" ? "" : addressOf(from.name).host);
    return { node: `${host}:${redirect[3]}`, asking: redirect[1] === "ASK" };
  }

  /** Used by clients. */
  forAnnouncements(redirect?: Redirect): { find: Find; done: () => void } {
    return { find: () => this.find(CLIENTS, redirect), done: () => undefined };
  }

  private node(name: string): Server | string {
    if (this.closed) throw new Failure("the cluster is closed", "not sent");
    let node = this.nodes.get(name);
    if (node === undefined) {
      const redis = this.create(addressOf(name));
      redis.on("error", () => undefined); // it connects again by itself
      redis.connect().catch(() => undefined);
      node = { name, redis, pending: 0 };
      this.nodes.set(name, node);
    }
    return whenReady(node);
  }

  /** Reads which node has which slots, at most once a second. If no node answers, the old map stays. */
  private refresh(): void {
    if (this.closed || this.refreshing || performance.now() - this.refreshedAt < REFRESH_INTERVAL_MS) return;
    this.refreshing = true;
    void this.read().finally(() => {
      this.refreshing = false;
      this.refreshedAt = performance.now();
    });
  }

  /** Asks one node after another, those with a connection first, and each of them as likely as the others: one may know an old map. */
  private async read(): Promise<void> {
    for (const [name, node] of this.nodes) if (!node.redis.isOpen) this.nodes.delete(name);
    const late = (name: string): number => (this.nodes.get(name)?.redis.isReady ? 0 : 1) + Math.random();
    const names = [...new Set([...this.seeds, ...this.listed, ...this.nodes.keys()])].map((name) => [late(name), name] as const);
    for (const [, name] of names.sort(([a], [b]) => a - b)) {
      try {
        this.use((await send(() => this.node(name), ["CLUSTER", "SLOTS"], REFRESH_TIMEOUT_MS)) as SlotRange[], addressOf(name).host);
        return;
      } catch (error) {
        this.problem = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      }
    }
  }

  private use(ranges: readonly SlotRange[], asked: string): void {
    const owners: string[] = [];
    const listed = new Set<string>();
    for (const [first, last, ...nodes] of ranges) {
      const names = nodes.map(([host, port]) => `${host === null || host.length === 0 ? asked : toText(host)}:${port}`);
      for (const name of names) listed.add(name);
      for (let slot = first; names[0] !== undefined && slot <= last; slot++) owners[slot] = names[0];
    }
    if (owners.length === 0) throw new Error("it knows no slots");
    this.problem = "no node has it";
    this.owners = owners;
    this.listed = listed;
    for (const [name, node] of this.nodes) {
      if (listed.has(name) || node.pending > 0) continue;
      this.nodes.delete(name);
      end(node.redis);
    }
  }
}
