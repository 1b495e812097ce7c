--- Resets limits of check, and forgets every receipt of the subject that check counted.
--- @use limit
--- @key    bucket         zset[checked]            receipts that were counted
--- @arg    limits         packed(limit)[1..16]     limits to reset, by kind and name
--- @result existed        bool                     whether there was anything to reset
local function check_reset(bucket, limits, limits_state)
  local existed = redis.call('DEL', bucket)
  for i = 1, #limits do
    existed = existed + redis.call('DEL', limits_state[i])
  end
  return existed > 0
end
