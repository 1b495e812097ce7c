--- A budget: its row in a call, and its result.
---
--- Rows with one subject and unit are one account: they share what it has spent, and one of each call's amounts. A window slides in sixty
--- slices: a charge counts for the window's length, and on to the end of its slice. In a period of the calendar it counts to the period's end.
--- @lib budget
--- @arg    budget      micros[0..1000000000000000] most that may be spent in a window or period; of a unit, whole ones
--- @arg    window      duration[1ms..3650d]     length of the window. Another length is another count
--- @arg    previous    time?                    of a budget with periods of the calendar: when the period before starts, as in quota
--- @arg    start       time?                    when the period starts, which window is the length of
--- @arg    after       time?                    when the period after the next one starts
--- @arg    unit        text[32]?                unit of the budget: tokens; money when omitted
--- @must   (previous_us == nil) == (start_us == nil) and (start_us == nil) == (after_us == nil): a budget with periods has all three
--- @must   start_us == nil or previous_us < start_us and start_us + window_us < after_us: periods follow each other
--- @must   start_us == nil or after_us <= previous_us + 315360000000000: its periods take 10 years at most
--- @key    spent       hash[spent:<unit>]       what the account has spent
--- @result allowed     bool                     whether the amount fits this budget, or is already part of it
--- @result spent       micros                   what is spent in the window after the call: 300000 of a budget of 1000000
--- @result remaining   micros                   what is left of the budget: 700000; 0 when it is exceeded
--- @result charged     micros                   what the call charged, or in cost.reserve its receipt before: 300000; 0 when refused
--- @result retry_after duration                 wait until the amount fits this budget; 0 when it does, and when it never will
local budget = {}

-- Creates a window as an account's fields name it.
local function window_of(name)
  return {name = name, sum = name .. ':sum', field = '', field_end_us = 0}
end

-- Adds the row's window, or its periods: the previous, the own and the next one.
function budget.prepare(row)
  if not row.start_us then
    row.sliding = window_of(string.format('%.0f', row.window_us))
    return row
  end
  local starts = {row.previous_us, row.start_us, row.start_us + row.window_us, row.after_us}
  row.periods = {}
  for i = 1, 3 do
    row.periods[i] = window_of(string.format('%.0f-%.0f', starts[i], starts[i + 1]))
    row.periods[i].from_us = starts[i]
    row.periods[i].to_us = starts[i + 1]
  end
  return row
end

-- Returns when the slice ends, a sixtieth of a span, in which the span ends.
function budget.slice_end(from_us, span_us)
  local slice_us, end_us = math.floor(span_us / 60), from_us + span_us
  local into_us = end_us % slice_us
  return into_us == 0 and end_us or end_us + slice_us - into_us
end

-- Returns the window in which a charge at that time counts, and until when it does; nil if it is in none of the row's periods.
function budget.window(row, at_us)
  if row.sliding then
    return row.sliding, budget.slice_end(at_us, row.window_us)
  end
  for i = 1, 3 do
    local period = row.periods[i]
    if period.from_us <= at_us and at_us < period.to_us then
      return period, period.to_us
    end
  end
  return nil
end

-- Returns the field of what counts in a window until a time. It is kept, since calls within a slice have the same.
function budget.field(window, end_us)
  if window.field_end_us ~= end_us then
    window.field = string.format('%s:%.0f', window.name, end_us)
    window.field_end_us = end_us
  end
  return window.field
end

return budget
