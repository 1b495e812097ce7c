--- Lists a subject's admissions, attempts, strikes, reservations and challenges; writes nothing.
---
--- Returns at most the newest 100 of each, oldest first. For what the subject may still do, call ratelimit.check_peek,
--- abuse.status and cost.peek.
--- @use clock ledger attempt_log refusal newest_entries
--- @flags  no-writes
--- @key    bucket         hash[charges:<unit>]     the subject's charges
--- @key    challenges     hash[challenges]         the subject's challenges, by token
--- @key    attempts       string[attempts]         when attempts were made and blocks began
--- @key    pages          zset[attempt_pages]      older attempts, if there are more than 12
--- @arg    limits         group[0..16]             limits whose admissions to list; only a sliding_log keeps each one
--- @arg    limits.name    text[64]                 the limit's name
--- @key    limits.state   list[sliding_log:<name>] the limit's log
--- @arg    unit           text[32]?                unit of the reservations: tokens; money when omitted
--- @result now            time                     time of the call
--- @result admissions     group                    admissions in the limits' logs
--- @result admissions.limit count[1..16]           the limit's position in the call, from 1
--- @result admissions.at  time                     when it was admitted
--- @result attempts       group                    the attempts
--- @result attempts.at    time                     when it was made
--- @result strikes        group                    blocks that tiers started
--- @result strikes.at     time                     when it began
--- @result reservations   group                    reserved and settled amounts
--- @result reservations.id text[256]            ID to settle or cancel by: guard's have 26 characters, but cost.reserve takes receipts of 256 bytes
--- @result reservations.state enum(open,settled,lapsed) open: not settled, and counted. lapsed: not settled, and no longer counted
--- @result reservations.amount micros              the estimate, or the settled amount
--- @result reservations.at time                    when it was made
--- @result reservations.counts_until time          when it stops counting: at the end of its hold, or when it leaves the longest window
--- @result challenges     group                    challenges that are known
--- @result challenges.token text[128]              the challenge
--- @result challenges.state enum(unused,consumed)  whether it can be consumed: only when unused
--- @result challenges.issued time                  when it was issued
--- @result challenges.expires time                 when it is forgotten
--- @result challenges.payload text[0..1024]        what it was issued for; empty when consumed
--- @error  RLSTATE                                 a key holds data that its library did not write
local function peek(bucket, challenges, attempts, pages, limits, unit)
  local clock_us = clock.now_us()
  local admissions, no_log = newest_entries.admissions(limits)
  if not admissions then
    return nil, no_log
  end
  local log, no_log = attempt_log.read(attempts, clock_us, 0, newest_entries.forever_us, 0, false)
  if not log then
    return nil, no_log
  end
  local times, no_pages = attempt_log.newest(pages, log, newest_entries.max_rows)
  if not times then
    return nil, no_pages
  end
  local attempted, strikes = newest_entries.times(times), newest_entries.times(log.strike_times)
  if not attempted or not strikes then
    return nil, refusal.state(attempts, 'holds no times of attempts')
  end
  local state, no_state = ledger.read(bucket, '', clock_us)
  if not state then
    return nil, no_state
  end
  local reserved, no_charges = newest_entries.reservations(bucket, state)
  if not reserved then
    return nil, no_charges
  end
  local issued, no_challenge = newest_entries.challenges(challenges, clock_us)
  if not issued then
    return nil, no_challenge
  end
  return clock_us, admissions, attempted, strikes, reserved, issued
end
