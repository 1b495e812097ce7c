--- Returns the option with the most votes, the first of several; writes nothing.
--- @flags  no-writes
--- @key    tally       hash[tally]             votes of each option
--- @arg    options     count[1..20]            options of the poll
--- @result option      count[0..20]            the option; 0 without votes
--- @result votes       count[0..100000]        its votes
--- @result tied        bool                    whether another option has as many
local function leader(tally, options)
  local names = {}
  for i = 1, options do
    names[i] = i
  end
  local found = redis.call('HMGET', tally, unpack(names))
  local option, most, tied = 0, '0', false
  for i = 1, options do
    local votes = found[i] or '0'
    if votes > most then
      option = i
      most = votes
      tied = false
    elseif votes == most and votes ~= '0' then
      tied = true
    end
  end
  return option, math.min(tonumber(most) or 0, 100000), tied
end
