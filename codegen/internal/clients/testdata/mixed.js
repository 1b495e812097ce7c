// Ten calls at once to each of two limits of 10, once a line has come: prints how many passed.

const { createClient } = require("redis");
const { guard, hours, ratelimit } = require("rlfunc-clients");

async function main() {
  const redis = createClient({ url: `redis://${process.env.REDIS}` });
  await redis.connect();
  const limits = new ratelimit.Client(redis);
  const decisions = new guard.Client(redis);
  const rows = [{ name: "steady", kind: "gcra", limit: 10, window: hours(1) }];
  const subject = "all {languages}";
  await limits.gcra({ subject: "other", limit: 10, period: hours(1) });
  console.log("ready");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  const ten = Array.from({ length: 10 });
  const [logged, admitted] = await Promise.all([
    Promise.all(ten.map(() => limits.slidingLog({ subject, limit: 10, window: hours(1) }))),
    Promise.all(ten.map(() => decisions.admit({ subject, limits: rows }))),
  ]);
  console.log(logged.filter((r) => r.allowed).length, admitted.filter((r) => r.allowed).length);
  await redis.quit();
  process.exit(0);
}

main();
