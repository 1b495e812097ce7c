// Calls an API from Node.js within the account's limits in limits.yaml. The keys are those of guard, so that programs in Go, Python and TypeScript share
// them.

import { randomUUID } from "node:crypto";
import { createClient } from "redis";
import { abuse, guard, micros, milliseconds, minutes, seconds, toMilliseconds } from "rlfunc-clients";

const minute = milliseconds(60_500); // guard's windows are 2 % longer, by half a second at most
const atOnce: guard.Limit = { name: "llm/at_once", kind: "concurrency", limit: 5, window: seconds(30) };
const limits = [
  { name: "llm/requests", kind: "sliding_log", limit: 60, window: minute },
  { name: "llm/pace", kind: "gcra", limit: 60, window: minutes(1), burst: 2 },
  atOnce,
] as const;
const budgets = [{ budget: micros(40_000), window: minute, unit: "tokens", name: "tokens" }]; // whole ones of a unit
const amount = (tokens: number): guard.UnitAmount[] => [{ unit: "tokens", amount: tokens }];

/** An account of an API. */
export class Upstream {
  private readonly guard: guard.Client;
  private readonly abuse: abuse.Client;
  private readonly subject: string;

  constructor(redis: ReturnType<typeof createClient>, account = "default", private readonly maxWait = 30_000) {
    this.guard = new guard.Client(redis, { namespace: "outbound" });
    this.abuse = new abuse.Client(redis, { namespace: "outbound" });
    this.subject = "account=llm/" + account;
  }

  /**
   * Sends a request once the account allows it, and returns the response with its body. Its tokens are reserved until the response tells what it has used.
   * A call must not last longer than the lease, 30 s.
   */
  async fetch(url: string, init: RequestInit = {}, tokens = 1500): Promise<[Response, string]> {
    const call = randomUUID();
    await this.wait(call, tokens);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), 25_000);
    try {
      const response = await fetch(url, { ...init, signal: late.signal });
      const body = await response.text();
      if (response.ok) {
        tokens = used(body, tokens);
        return [response, body];
      }
      tokens = 0; // it has used nothing
      const pause = Math.min(waitOf(response.headers.get("retry-after") ?? "") || (response.status === 429 ? 1000 : 0), 3_600_000);
      if (pause > 0) { // no process calls until then
        await this.abuse.block({ subject: this.subject, duration: milliseconds(pause), reason: "the upstream asked for a pause" });
      }
      return [response, body];
    } finally {
      clearTimeout(timer);
      await this.guard.release({ subject: this.subject, limits: [atOnce], holder: call });
      await this.guard.settle({ subject: this.subject, budgets, reservation: call, units: amount(tokens) });
    }
  }

  private async wait(call: string, tokens: number): Promise<void> {
    for (const ends = Date.now() + this.maxWait; ; ) {
      const answer = await this.guard.admit({ subject: this.subject, limits, holder: call, budgets, reservation: call, units: amount(tokens) });
      if (answer.allowed) return;
      let wait = toMilliseconds(answer.retryAfter); // 0 if no wait helps
      if ([...answer.limits.slice(2), ...answer.budgets].some((row) => !row.allowed)) wait = Math.min(wait, 100); // another call may end at any time
      if (wait === 0 || Date.now() + wait > ends) {
        throw new Error(`${this.subject} is refused by ${answer.reason}; try again in ${toMilliseconds(answer.retryAfter)} ms`);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** The milliseconds of a Retry-After: seconds, with or without decimals, or a date. */
function waitOf(text: string): number {
  const wait = /^[0-9.]+$/.test(text) ? Math.ceil(Number(text) * 1000) : Date.parse(text) - Date.now();
  return wait > 0 ? wait : 0;
}

function used(body: string, estimate: number): number {
  try {
    const usage = JSON.parse(body).usage;
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    return Number.isSafeInteger(tokens) && tokens > 0 && tokens < 1e15 ? tokens : estimate;
  } catch { // it does not say so
    return estimate;
  }
}

async function main(redisURL: string, url: string): Promise<void> {
  const redis = createClient({ url: redisURL });
  redis.on("error", (error) => console.error(error));
  await redis.connect();
  const [response, body] = await new Upstream(redis).fetch(url).finally(() => redis.quit());
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  console.log(body);
}

void main(process.argv[2]!, process.argv[3]!);
