--- Changes a vote that a voter has cast.
---
--- Who has not voted is refused, and nothing is written. The same option again changes nothing.
--- @use clock
--- @key    ballots     hash[ballots]           the option of each voter
--- @key    tally       hash[tally]             votes of each option
--- @arg    voter       text[64]                who changes the vote
--- @arg    option      count[1..20]            for which option
--- @arg    keep        duration[1h..90d]=30d   how long the poll is kept after the last vote, at least
--- @result changed     bool                    whether the voter's vote is for option now
--- @result was         count[0..20]            the option before; 0 if there was none
--- @refused changed
local function change(ballots, tally, voter, option, keep_us)
  before = tonumber(redis.call('HGET', ballots, voter))
  if not before then
    return false, 0
  end
  if before == option then
    return true, option
  end
  redis.call('HSET', ballots, voter, option)
  redis.call('HINCRBY', tally, before, -1)
  redis.call('HINCRBY', tally, option, 1)
  clock.extend(ballots, keep_us)
  clock.extend(tally, keep_us)
  return true, math.min(before, 20)
end
