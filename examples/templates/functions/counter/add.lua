--- Adds to a total that lasts, or subtracts.
--- @use refusal
--- @key    total       string[total] forever                 the total
--- @arg    by          int[-1000000000..1000000000]          what to add
--- @result total       int                                   the total after the call: -3
--- @error  RLARG                                             the total would leave the range of 9000000000000000 either way
--- @error  RLSTATE                                           the key holds no total
local function add(total, by)
  local before = tonumber(redis.call('GET', total) or '0')
  if not before or before % 1 ~= 0 then
    return nil, refusal.state(total, 'holds no total')
  end
  local after = before + by
  if after > 9000000000000000 or after < -9000000000000000 then
    return nil, refusal.argument('by must keep the total within 9000000000000000 either way')
  end
  redis.call('SET', total, string.format('%.0f', after))
  return after
end
