--- Gives back what a call charged to its limits, of one subject or several: all are read before any is changed.
--- @use limit_rows
--- @lib limit_refund
local limit_refund = {}

-- Reads every row that a call charged at at_us, before any of it is given back. `left` has the reset_after that the call answered for each:
-- when that has passed, the charge no longer counts. Without left, what a call would charge now counts. Returns until when each row's
-- charge counts, nil if that is not known and false if it does not; or nil and a refusal.
function limit_refund.charged(limits, states, weight, at_us, left, now_us, holder)
  local ends_us, answer = {}, {holder = holder}
  for i = 1, #limits do
    local row, cost, failure = limits[i], limit_rows.cost_of(limits[i], weight), nil
    local end_us = left[i] and math.min(at_us + left[i].left_us, 9007199254740992)
    if end_us and now_us >= end_us - end_us % 1000 or cost == 0 then
      end_us = false
    else
      failure = limit_rows.check_row(row, states[i], cost, now_us, answer)
    end
    if failure then
      return nil, limit_rows.of_row(i, failure)
    end
    if cost > row.most then -- a shadow limit charged nothing of that
      end_us = false
    end
    ends_us[i] = end_us
  end
  return ends_us
end

-- Gives back what charged has found. Returns whether that was anything.
function limit_refund.give_back(limits, states, weight, ends_us, now_us, holder)
  local refunded = false
  for i = 1, #limits do
    local row = limits[i]
    if ends_us[i] ~= false then
      refunded = row.refund(row, states[i], limit_rows.cost_of(row, weight), now_us, ends_us[i], holder) or refunded
    end
  end
  return refunded
end

return limit_refund
