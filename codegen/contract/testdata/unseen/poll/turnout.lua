--- Returns how many of those who may vote have voted, how the votes are shared, and whether that is enough; writes nothing.
--- @flags  no-writes
--- @key    ballots     hash[ballots]                   the option of each voter
--- @key    tally       hash[tally]                     votes of each option
--- @arg    options     count[1..20]                    options of the poll
--- @arg    eligible    count[0..100000]                who may vote
--- @arg    quorum      count[0..100]=50                percent that are enough
--- @result voters      count[0..100000]                who has voted
--- @result percent     count[0..100]                   how many percent that are, rounded down; 0 if nobody may vote
--- @result enough      bool                            whether at least quorum percent have voted
--- @result missing     count[0..100000]                voters who are missing to that
--- @result shares      list[1..20] of count[0..100]    percent of the votes by option, rounded down; 0 without votes
local function turnout(ballots, tally, options, eligible, quorum)
  local voters = math.min(redis.call('HLEN', ballots), 100000)
  local shares, sum = {}, 0
  for i = 1, options do
    shares[i] = math.max(tonumber(redis.call('HGET', tally, i)) or 0, 0)
    sum = sum + shares[i]
  end
  for i = 1, options do
    if sum > 0 then
      shares[i] = math.floor(shares[i] * 100 / sum)
    end
  end
  local percent = eligible > 0 and math.min(math.floor(voters * 100 / eligible), 100) or 0
  local needed = math.ceil(eligible * quorum / 100)
  return voters, percent, voters >= needed, math.max(needed - voters, 0), shares
end
