--- Lists what a subject has done and has: admissions, attempts, strikes, reservations, challenges; changes nothing.
---
--- At most the newest 100 of each, oldest first. What the subject may still do is told by ratelimit.check_peek,
--- abuse.status and cost.peek.
--- @use clock ledger attempt_log refusal looking
--- @flags  no-writes
--- @key    bucket         hash[charges]            the subject's charges
--- @key    challenges     hash[challenges]         the subject's challenges by token
--- @key    attempts       string[attempts]         when attempts were made and blocks began
--- @key    pages          zset[attempt_pages]      older attempts, where there are more than 12
--- @arg    limits         group[0..16]             limits whose admissions are listed: only a sliding_log keeps each
--- @arg    limits.name    text[64]                 the limit's name
--- @key    limits.state   list[sliding_log:<name>] what the limit keeps
--- @result now            time                     when it was looked
--- @result admissions     group                    what the limits' logs hold
--- @result admissions.limit count[1..16]           which limit of the call, from 1
--- @result admissions.at  time                     when it was admitted
--- @result attempts       group                    the attempts
--- @result attempts.at    time                     when it was made
--- @result strikes        group                    the blocks that tiers started
--- @result strikes.at     time                     when it began
--- @result reservations   group                    what was reserved or spent
--- @result reservations.id text[0..256]            to settle or cancel by
--- @result reservations.state enum(open,settled,lapsed) open: not settled, and counted. lapsed: not settled, and counted no more
--- @result reservations.amount micros              the estimate, or what was settled
--- @result reservations.at time                    when it was made
--- @result reservations.counts_until time          when it counts no more unless it is settled; when it has left the longest window
--- @result challenges     group                    the challenges that are known
--- @result challenges.token text[128]              the challenge
--- @result challenges.state enum(unused,consumed)  whether it can be consumed: only when unused
--- @result challenges.issued time                  when it was issued
--- @result challenges.expires time                 when it is known no more
--- @result challenges.payload text[0..1024]        what it was issued for; empty when consumed
--- @error  RLSTATE                                 a key holds what its library does not write
local function look(bucket, challenges, attempts, pages, limits)
  local clock_us = clock.now_us()
  local admissions, no_log = looking.admissions(limits)
  if not admissions then
    return nil, no_log
  end
  local log, no_log = attempt_log.read(attempts, clock_us, 0, looking.ever_us, 0, false)
  if not log then
    return nil, no_log
  end
  local times, no_pages = attempt_log.newest(pages, log, looking.most)
  if not times then
    return nil, no_pages
  end
  local attempted, struck_at = looking.times(times), looking.times(log.struck)
  if not attempted or not struck_at then
    return nil, refusal.state(attempts, 'holds no times of attempts')
  end
  local state, no_state = ledger.read(bucket, '', clock_us)
  if not state then
    return nil, no_state
  end
  local reserved, no_charges = looking.reservations(bucket, state)
  if not reserved then
    return nil, no_charges
  end
  local issued, no_challenge = looking.challenges(challenges, clock_us)
  if not issued then
    return nil, no_challenge
  end
  return clock_us, admissions, attempted, struck_at, reserved, issued
end
