--- A limit of any kind: its row in a call, prepared once, and its result.
---
--- A kind is a lib file. It says whether a call's weight multiplies its cost (weighted) and whether it needs the clock (needs_clock),
--- unless its prepare says so of a row. check reads the row's key and writes nothing; it returns whether the cost is allowed, what is
--- left without the call, the time until all is left, and the wait; it also stores what charge needs in the row's result. charge
--- charges what check allowed, and returns the time until all is left. take is optional: it does both in fewer commands, and returns
--- what is left after the call. refund refunds a charge. check and refund also get the call's holder.
--- @use kind_sliding_log kind_sliding_counter kind_fixed_window kind_gcra kind_quota kind_concurrency
--- @lib limit
--- @arg    name        text[64]                 the limit's name: minute
--- @arg    kind        enum(sliding_log,sliding_counter,fixed_window,gcra,quota,concurrency) how it counts, like the function of that name; a concurrency like concurrency.acquire
--- @key    state       any[<kind>:<name>]       the limit's state: a list for a sliding_log, otherwise a string; for a concurrency, a zset if there are many holders
--- @arg    limit       count[1..1000000000000]  most that may be charged in a window; for a gcra, tokens gained per window
--- @arg    window      duration[1us..3650d]     length of the window, at most 90 days for a sliding_counter; for a gcra, its period; for a quota, from start to the next start; for a concurrency, the lease, 1ms to 1d
--- @arg    burst       count[1..1000000000000]? most tokens a gcra holds; limit when omitted. Only for a gcra
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 charges nothing. A sliding_log counts requests: 0 or 1; a concurrency counts places, at most 1000
--- @arg    shadow      bool?                    whether the limit only reports and never refuses
--- @arg    global      bool?                    whether it counts all subjects together: it also counts repeats, and its refusals are not attempts
--- @arg    previous    time?                    as in quota. Only for a quota
--- @arg    start       time?                    as in quota. Only for a quota
--- @arg    after       time?                    as in quota. Only for a quota
--- @must   burst be omitted unless kind is gcra
--- @must   burst * window be at most limit * 36500d: a bucket must fill within 100 years
--- @must   limit be at most 1000000 if kind is sliding_log: it stores every request
--- @must   limit be at most 1000000 if kind is concurrency: it stores every holder
--- @must   cost be at most 1 if kind is sliding_log: it counts requests
--- @must   window be at most 90d if kind is sliding_counter
--- @must   window be at least 1ms if kind is concurrency: it is the lease
--- @must   window be at most 1d if kind is concurrency: it is the lease
--- @must   cost * weight be at most limit unless kind is sliding_log, or burst or shadow: it can never be allowed
--- @must   cost * weight be at most burst unless shadow: it can never be allowed
--- @must   cost * weight be at most 1000 if kind is concurrency unless shadow: it can never be allowed
--- @must   holder be given if kind is concurrency
--- @must   previous, start and after be given if kind is quota
--- @must   previous, start and after be omitted unless kind is quota
--- @must   previous be below start
--- @must   start + window be below after
--- @must   after be at most previous + 3650d
--- @result allowed     bool                     whether this limit allows the call; another one may refuse it
--- @result remaining   count[0..1000000000000]  what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration                 wait until the limit has its full capacity again; 0 when it has. For a concurrency, what the lease of the call's own places has left
--- @result retry_after duration                 wait until this limit allows the call; 0 when it does, and when a shadow limit never will. For a concurrency, until enough leases have ended, if no holder releases or renews
local limit = {}

local kinds = {
  sliding_log = kind_sliding_log, sliding_counter = kind_sliding_counter, fixed_window = kind_fixed_window, gcra = kind_gcra,
  quota = kind_quota, concurrency = kind_concurrency,
}

-- The check of a shadow limit. It refuses a cost that can never fit, which is an error of the caller in any other limit.
local function check_shadow(row, key, cost, clock_us, answer, holder)
  local allowed, left, reset_us, wait_us = row.check_live(row, key, math.min(cost, row.most), clock_us, answer, holder)
  if allowed == nil then
    return nil, left
  elseif cost > row.most then
    return false, left, reset_us, 0
  end
  return allowed, left, reset_us, wait_us
end

-- Checks a row, and adds the functions of its kind. same_name_above marks a row after one of the same kind and name: for one
-- subject the two would be one limit. clock_needed_so_far marks a row that needs the clock, or follows one that does, so the last
-- row says it for all.
function limit.prepare(row, above)
  local kind = kinds[row.kind]
  row.window_ms = math.ceil(row.window_us / 1000)
  row.burst = row.burst or row.limit
  row.most = row.burst
  row.redis_type = kind.redis_type
  row.needs_clock = kind.needs_clock
  row.weighted = kind.weighted
  row.check = kind.check
  row.charge = kind.charge
  row.take = kind.take
  row.refund = kind.refund
  if kind.prepare then
    kind.prepare(row)
  end
  if row.shadow then
    row.check_live = row.check
    row.check = check_shadow
    row.take = nil
  end
  row.clock_needed_so_far = row.needs_clock
  for i = 1, #above do
    if above[i].clock_needed_so_far then
      row.clock_needed_so_far = true
    end
    if above[i].name == row.name and above[i].kind == row.kind then
      row.same_name_above = true
    end
  end
  return row
end

return limit
