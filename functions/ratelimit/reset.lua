--- Resets limits, as if nothing had been charged; and forgets a receipt, if one is given.
--- @use limit
--- @key    known          string[receipt:<receipt>] the receipt
--- @arg    limits         group(limit)[1..16]     limits to reset, by kind, window and name
--- @arg    receipt        text[256]?               a request's own ID
--- @result existed        bool                     whether there was anything to reset
local function reset(known, limits, limits_state, receipt)
  local existed = receipt and redis.call('DEL', known) or 0
  for i = 1, #limits do
    existed = existed + redis.call('DEL', limits_state[i])
  end
  return existed > 0
end
