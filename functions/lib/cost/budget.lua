--- A budget: its row in a call, and its result.
---
--- A window slides in sixty slices: a charge counts for the window's length, and on to the end of its slice. In a period of the calendar it
--- counts to the period's end.
--- @use calendar_period refusal
--- @lib budget
--- @arg    budget      micros[0..1000000000000000] most that may be spent in a window or period; of a unit, whole ones
--- @arg    window      duration[1ms..3650d]?    length of the window; a budget has that or periods. Another length is another count
--- @arg    unit        text[32]?                unit of the budget: tokens; money when omitted
--- @arg    name        text[64]?                tells budgets of one subject apart that have the same unit and window: month. Required with periods
--- @arg    previous    time?                    as in quota. Only with periods
--- @arg    start       time?                    as in quota. Only with periods
--- @arg    next        time?                    as in quota. Only with periods
--- @arg    after       time?                    as in quota. Only with periods
--- @must   (window_us == nil) == (start_us ~= nil): a budget has a window or periods
--- @must   start_us ~= nil or not (previous_us or next_us or after_us): only a budget with periods has their times
--- @must   start_us == nil or name and previous_us and next_us and after_us: a budget with periods has a name and all four times
--- @must   start_us == nil or previous_us < start_us and start_us < next_us and next_us < after_us: periods follow each other
--- @must   start_us == nil or after_us <= previous_us + 315360000000000: its periods take 10 years at most
--- @key    spent       hash[spent:<unit>:<window>:<name>] what is spent of it
--- @result allowed     bool                     whether the amount fits this budget, or is already part of it
--- @result spent       micros                   what is spent in the window after the call: 300000 of a budget of 1000000
--- @result remaining   micros                   what is left of the budget: 700000; 0 when it is exceeded
--- @result charged     micros                   what the call charged, or in cost.reserve its receipt before: 300000; 0 when refused
--- @result retry_after duration                 wait until the amount fits this budget; 0 when it does, and when it never will
local budget = {}

-- Prepares a row once for many calls. Keys of different budgets differ, because windows are numbers, and units and names are not. same_above
-- marks a row after one of the same unit, window and name: of one subject they would be one.
function budget.prepare(row, above)
  if string.find(row.unit or 'u', '^%d') or string.find(row.name or 'n', '^%d') then
    return nil, refusal.argument('unit and name must not begin with a digit')
  end
  row.length_us = row.window_us or row.next_us - row.start_us
  for i = 1, #above do
    local other = above[i]
    row.same_above = row.same_above or other.unit == row.unit and other.window_us == row.window_us and other.name == row.name
  end
  return row
end

-- Returns when the slice ends, a sixtieth of a span, in which the span ends.
function budget.slice_end(from_us, span_us)
  local slice_us, end_us = math.floor(span_us / 60), from_us + span_us
  local into_us = end_us % slice_us
  return into_us == 0 and end_us or end_us + slice_us - into_us
end

-- Returns the period in which a charge at that time counts, '' in a window, and until when; nil if it is in none of the row's periods.
function budget.period(row, at_us)
  if row.window_us then
    return '', budget.slice_end(at_us, row.window_us)
  end
  local start_us, end_us = calendar_period.at(row, at_us)
  if not start_us then
    return nil
  end
  return string.format(' %d-%d', start_us, end_us), end_us
end

-- Returns the refusal of a budget that has no period now.
function budget.wrong_clock(row, place, now_us)
  local name, side = 'after', 'behind'
  if now_us < row.previous_us then
    name = 'previous'
    side = 'ahead of'
  end
  return refusal.argument(string.format(
    "budgets.%d.%s must be on the other side of now: the caller's clock is more than a period %s the server's", place - 1, name, side))
end

return budget
