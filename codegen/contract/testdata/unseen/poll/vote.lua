--- Votes for an option. Each voter has one vote.
---
--- A refused call writes nothing.
--- @use clock
--- @key    ballots     hash[ballots]           the option of each voter
--- @key    tally       hash[tally]             votes of each option
--- @arg    voter       text[64]                who votes
--- @arg    option      count[1..20]            for which option
--- @arg    keep        duration[1h..90d]=30d   how long the poll is kept after the last vote, at least
--- @result outcome     enum(counted,voted,full) voted: the voter has voted before
--- @result votes       count[0..100000]        votes of the option after the call
--- @result voters      count[0..100000]        who has voted, after the call
--- @refused outcome voted full
local function vote(ballots, tally, voter, option, keep_us)
  local most = 100000
  local voters = math.min(redis.call('HLEN', ballots), most)
  if voters == most or redis.call('HEXISTS', ballots, voter) == 1 then
    local votes = math.max(math.min(tonumber(redis.call('HGET', tally, option)) or 0, most), 0)
    return redis.call('HEXISTS', ballots, voter) == 1 and 'voted' or 'full', votes, voters
  end
  redis.call('HSETNX', ballots, voter, option)
  local votes = redis.call('HINCRBY', tally, option, 1)
  clock.extend(ballots, keep_us)
  clock.extend(tally, keep_us)
  return 'counted', math.max(math.min(votes, most), 0), voters + 1
end
