--- Lists a subject's attempts, strikes and challenges; writes nothing.
---
--- Returns at most the newest 100 of each, oldest first. For what the subject may still do, call ratelimit.check with look,
--- abuse.status and cost.peek.
--- @use clock refusal newest_entries
--- @flags  no-writes
--- @key    challenges     hash[challenges]         the subject's challenges, by token
--- @key    attempts       zset[attempts:<block>]   when attempts were made
--- @key    strikes        list[strikes:<block>]    when blocks began that tiers started
--- @arg    block          text[32]?                the block whose attempts and strikes these are; those without a name when omitted
--- @result now            time                     time of the call
--- @result attempts       group                    the attempts
--- @result attempts.at    time                     when it was made
--- @result strikes        group                    blocks that tiers started
--- @result strikes.at     time                     when it began
--- @result challenges     group                    challenges that are known
--- @result challenges.token text[128]              the challenge
--- @result challenges.state enum(unused,consumed)  whether it can be consumed: only when unused
--- @result challenges.issued time                  when it was issued
--- @result challenges.expires time                 when it is forgotten
--- @result challenges.payload text[0..1024]        what it was issued for; empty when consumed
--- @error  RLSTATE                                 a key holds data that its library did not write
local function peek(challenges, attempts, strikes, block)
  local clock_us = clock.now_us()
  local attempted = newest_entries.times(redis.call('ZRANGE', attempts, -newest_entries.max_rows, '-1'))
  local struck = newest_entries.times(redis.call('LRANGE', strikes, -newest_entries.max_rows, '-1'))
  if not attempted or not struck then
    return nil, refusal.state(attempted and strikes or attempts, 'holds no times')
  end
  local issued, no_challenge = newest_entries.challenges(challenges, clock_us)
  if not issued then
    return nil, no_challenge
  end
  return clock_us, attempted, struck, issued
end
