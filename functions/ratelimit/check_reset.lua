--- Forgets what a subject took of limits of check, and every receipt of the subject that check counted.
--- @key    bucket         zset[checked]            the receipts that were counted
--- @arg    limits         group[1..16]             limits to forget
--- @arg    limits.name    text[64]                 the limit's name
--- @arg    limits.kind    enum(sliding_log,sliding_counter,fixed_window,gcra) how it counts
--- @key    limits.state   any[<kind>:<name>]       what the limit keeps
--- @result existed        bool                     whether there was anything to forget
local function check_reset(bucket, limits)
  local existed = redis.call('DEL', bucket)
  for i = 1, #limits do
    existed = existed + redis.call('DEL', limits[i].state)
  end
  return existed > 0
end
