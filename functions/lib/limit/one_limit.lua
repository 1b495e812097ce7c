--- A call of a single limit: the functions that are named after a kind.
--- @use clock
--- @lib one_limit
local one_limit = {}

-- Rows by limit and window, at most 256, and the answer: making them takes a fifth of a call. Limits and windows are negated as keys, because
-- gopher-lua allocates a table up to its greatest number.
-- rlfunc:ignore library-state a row is made of its key, and every call writes what it reads of the answer
local rows, answer = {count = 0}, {}

-- Returns the row of a limit, prepared; or nil and a refusal.
function one_limit.row(kind, limit, window_us, burst)
  local of_limit = rows[-limit]
  local row = of_limit and of_limit[-window_us]
  if row and row.check == kind.check and row.burst == burst then
    return row
  end
  row = {check = kind.check, charge = kind.charge, needs_clock = kind.needs_clock, limit = limit, most = limit, window_us = window_us, burst = burst}
  local failure = kind.prepare and kind.prepare(row)
  if failure then
    return nil, failure
  end
  if rows.count == 256 then
    rows = {count = 0}
  end
  rows.count = rows.count + 1
  rows[-limit] = rows[-limit] or {}
  rows[-limit][-window_us] = row
  return row
end

-- Charges cost, or with at_most what there is up to cost, if the limit allows it. Returns the answer; or nil and a refusal. The clock is
-- read, if the caller has not, where the kind needs it, and to say when something was taken with at_most.
function one_limit.take(row, key, cost, at_most, now_us)
  now_us = now_us or (row.needs_clock or at_most) and clock.now_us() or 0
  if at_most and cost > row.most then
    cost = row.most
  end
  local failure = row.check(row, key, cost, now_us, answer)
  if at_most and not failure and not answer.allowed and cost > 1 then
    cost = math.max(answer.remaining, 1)
    failure = row.check(row, key, cost, now_us, answer)
  end
  if failure then
    return nil, failure
  end
  answer.at_us = now_us
  answer.taken = 0
  if answer.allowed and cost > 0 then
    row.charge(row, key, cost, now_us, answer)
    answer.taken = cost
    answer.remaining = answer.remaining - cost
  end
  return answer
end

return one_limit
