--- A limit of any kind: its row in a call, prepared once, and its answer.
---
--- A kind is a lib file. Its prepare checks a row, and says whether a call's weight multiplies its cost (weighs), and whether it needs
--- the clock (timed). judge reads what the row's key says to a cost, and writes nothing; it returns whether that allows, what is left
--- without the call, the time until all is, and the wait; and it adds to the row's answer what charge needs. charge takes what judge
--- allowed, and puts right what the answer says of that. take, which a kind may lack, does both in fewer commands, and returns what is
--- left after the call. give_back returns what a call took.
--- @use refusal limit_sliding_log limit_sliding_counter limit_fixed_window limit_gcra
--- @lib limit
--- @arg    name        text[64]                 the limit's name: minute
--- @arg    kind        enum(sliding_log,sliding_counter,fixed_window,gcra) how it counts, as the function of that name
--- @key    state       any[<kind>:<name>]       what the limit keeps: a list for a sliding_log, else a string
--- @arg    limit       count[1..1000000]        most that is taken in a window; of a gcra tokens gained in a period
--- @arg    window      duration[1us..3650d]     length of the window, at most 90 days of a sliding_counter; of a gcra the period
--- @arg    burst       count[1..1000000]?       most tokens that a gcra holds; limit when absent. For a gcra only
--- @arg    cost        count[0..1000000]=1      how much to take; 0 only looks. A sliding_log counts requests: 0 or 1
--- @arg    shadow      bool?                    whether the limit only reports what it would do, and never refuses
--- @arg    global      bool?                    whether it counts all subjects together: it counts repeats too, and its refusals are no attempts
--- @result allowed     bool                     whether this limit allows; another one may have refused the call
--- @result remaining   count[0..1000000]        what is left after the call: 7 when 3 of 10 are taken
--- @result reset_after duration                 wait until the limit has its full capacity again; 0 when it has
--- @result retry_after duration                 wait until this limit allows; 0 when it does
local limit = {}

local kinds = {
  sliding_log = limit_sliding_log, sliding_counter = limit_sliding_counter, fixed_window = limit_fixed_window, gcra = limit_gcra,
}

-- Checks a row, and adds what its kind does with it. like marks a row after one of the same kind and name: of one subject the two
-- would be one limit. clocked marks a row that needs the clock, or stands after one that does: the last one says it of all.
function limit.prepare(row, above)
  local kind = kinds[row.kind]
  if row.burst and row.kind ~= 'gcra' then
    return nil, refusal.argument('burst must be absent but in a gcra')
  end
  row.window_ms = math.ceil(row.window_us / 1000)
  row.burst = row.burst or row.limit
  row.redis_type = kind.redis_type
  row.judge = kind.judge
  row.charge = kind.charge
  row.take = kind.take
  row.give_back = kind.give_back
  local fine, failure = kind.prepare(row)
  if not fine then
    return nil, failure
  end
  row.clocked = row.timed
  for i = 1, #above do
    if above[i].clocked then
      row.clocked = true
    end
    if above[i].name == row.name and above[i].kind == row.kind then
      row.like = true
    end
  end
  return row
end

return limit
