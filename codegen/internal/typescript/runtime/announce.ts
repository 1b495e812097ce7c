/** Tells the server each minute that this process uses a library, so that `rlfunc plan`, `deploy` and `retire` see it. */

import { hostname } from "node:os";
import { emitWarning, pid } from "node:process";
import { toText } from "./wire";

export const CLIENTS = "rlfunc:{deploy}:clients";
const EVERY_MS = 60_000;
const KEPT_MS = 24 * 3600 * 1000;
const MOST = 50_000; // announcements of all processes; the oldest go first

/** Sends a command to the server that has the announcements. */
export type Tell = (...command: string[]) => Promise<unknown>;

/** The announcement of one client. docs/reference/wire.md has the form of its record. */
export class Announcement {
  private member = ""; // of the server's time when it is first announced
  private failed = false;
  private ended = false;
  private timer: unknown;
  private last: Promise<void>;

  /** connected runs something with a connection. */
  constructor(
    private readonly library: string,
    private readonly service: string,
    private readonly connected: (run: (tell: Tell) => Promise<void>) => Promise<void>,
  ) {
    this.last = this.renew();
  }

  private async renew(): Promise<void> {
    try {
      await this.connected(async (tell) => {
        const [seconds, micros] = ((await tell("TIME")) as Uint8Array[]).map((word) => Number(toText(word)));
        const now = seconds! * 1000 + Math.floor(micros! / 1000);
        this.member ||= `${this.library} ${this.service} typescript ${now} ${`${hostname() || "unknown"}:${pid}`.replace(/[^!-~]/g, "_").slice(-128)}`;
        await tell("ZADD", CLIENTS, `${now}`, this.member);
        await tell("ZREMRANGEBYSCORE", CLIENTS, "-inf", `${now - KEPT_MS}`);
        await tell("ZREMRANGEBYRANK", CLIENTS, "0", `${-MOST - 1}`);
        await tell("EXPIRE", CLIENTS, `${KEPT_MS / 1000}`);
      });
      this.failed = false;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!this.failed && !this.ended) emitWarning(`announce ${this.library}: ${why}; until it succeeds, rlfunc retire does not see this process`, "RlfuncWarning");
      this.failed = true;
    }
    if (this.ended) return;
    this.timer = setTimeout(() => (this.last = this.renew()), EVERY_MS);
    (this.timer as { unref(): void }).unref(); // it keeps no process alive
  }

  /** Withdraws the announcement. If that fails, it expires. */
  async end(): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.timer as ReturnType<typeof setTimeout>);
    await this.last;
    if (this.member !== "") await this.connected(async (tell) => void (await tell("ZREM", CLIENTS, this.member))).catch(() => undefined);
  }
}
