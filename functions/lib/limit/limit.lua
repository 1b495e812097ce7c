--- A limit of any kind: its row in a call, prepared once, and its result.
---
--- A kind is a lib file. check(row, key, cost, now_us, answer) reads the row's key and fills the answer: allowed, remaining without the
--- call, reset_after_us, retry_after_us, and what charge needs. It returns nothing, or a refusal. charge(row, key, cost, now_us, answer)
--- charges what check allowed, and sets reset_after_us. refund(row, key, cost, now_us, until_us) gives a charge back that counts until
--- until_us, and returns whether it did. prepare(row) is optional. A kind is weighted if a call's weight multiplies its cost, gets the
--- clock if it needs_clock, and counts_repeats if a repeat of a receipt costs what its first call did.
--- @use window_log counter_pair window_count token_bucket period_count kind_concurrency
--- @lib limit
--- @arg    kind        enum(sliding_log,sliding_counter,fixed_window,gcra,quota,concurrency) how it counts, like the function of that name; a concurrency like concurrency.acquire
--- @key    state       any[<kind>:<window>:<name>] the limit's state: a list for a sliding_log, a hash for a quota, a zset for a concurrency, a string for the others
--- @arg    limit       count[1..1000000000000]  most that may be charged in a window; for a gcra, tokens gained per window
--- @arg    window      duration[1ms..3650d]?    length of the window; for a gcra, its period; for a concurrency, the lease, 1ms to 1d. All but a quota have one
--- @arg    name        text[64]?                tells limits of one subject apart that have the same kind and window: login
--- @arg    burst       count[1..1000000000000]? most tokens a gcra holds; limit when omitted. Only for a gcra
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 charges nothing. A sliding_log counts requests: 0 or 1; a concurrency counts places, at most 1000
--- @arg    shadow      bool?                    whether the limit only reports and never refuses
--- @arg    global      bool?                    whether it counts all subjects together: it also counts repeats, as a concurrency does, and its refusals are not attempts
--- @arg    previous    time?                    as in quota. Only for a quota
--- @arg    start       time?                    as in quota. Only for a quota
--- @arg    next        time?                    as in quota. Only for a quota
--- @arg    after       time?                    as in quota. Only for a quota
--- @must   (kind == 'quota') == (window_us == nil): all but a quota have a window
--- @must   burst == nil or kind == 'gcra': only a gcra has a burst
--- @must   burst == nil or burst * window_us <= limit * 3153600000000000: a bucket must fill within 100 years
--- @must   limit <= 1000000 or kind ~= 'sliding_log' and kind ~= 'concurrency': it stores every request
--- @must   cost <= 1 or kind ~= 'sliding_log': it counts requests
--- @must   kind ~= 'concurrency' or window_us <= 86400000000: it is the lease, 1d at most
--- @must   kind == 'quota' or not (previous_us or start_us or next_us or after_us): only a quota has periods
--- @must   kind ~= 'quota' or previous_us and start_us and next_us and after_us: a quota has periods
--- @must   kind ~= 'quota' or previous_us < start_us and start_us < next_us and next_us < after_us: periods follow each other
--- @must   kind ~= 'quota' or after_us <= previous_us + 315360000000000: a quota's periods take 10 years at most
--- @result allowed     bool                     whether this limit allows the call; another one may refuse it
--- @result remaining   count[0..1000000000000]  what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration                 wait until the limit has its full capacity again; 0 when it has. For a concurrency, what the lease of the call's own places has left
--- @result retry_after duration                 wait until this limit allows the call; 0 when it does, and when a shadow limit never will. For a concurrency, until enough leases have ended, if no holder releases or renews
local limit = {}

local kinds = {
  sliding_log = window_log, sliding_counter = counter_pair, fixed_window = window_count, gcra = token_bucket, quota = period_count,
  concurrency = kind_concurrency,
}

-- Prepares a row once for many calls. needs_clock marks a row that needs the clock, or is after one that does, so the last row says it
-- for all. same_above marks a row after one of the same kind, window and name: of one subject they would be one
-- limit. Returns the row; or nil and a refusal.
function limit.prepare(row, above)
  local kind = kinds[row.kind]
  row.length_us = row.window_us or row.next_us - row.start_us
  row.most = row.limit
  row.redis_type = kind.redis_type
  row.weighted = kind.weighted
  row.needs_clock = kind.needs_clock
  row.counts_repeats = row.global or kind.counts_repeats
  row.check = kind.check
  row.charge = kind.charge
  row.refund = kind.refund
  local failure = kind.prepare and kind.prepare(row)
  if failure then
    return nil, failure
  end
  for i = 1, #above do
    row.needs_clock = row.needs_clock or above[i].needs_clock
    row.same_above = row.same_above or above[i].kind == row.kind and above[i].window_us == row.window_us and above[i].name == row.name
  end
  return row
end

return limit
