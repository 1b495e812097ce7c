--- A subject's charges, numbered by time: field N of the hash is charge N, and field 'r:<receipt>' is a receipt's number.
---
--- A charge has a time, an amount in micros, the lane that sums it, the end of its hold (0: with the window), a kind and a
--- receipt. The kinds are open (an estimate), settled (spent) and gone (cancelled, or its receipt was charged again).
--- @use refusal
--- @lib charge_log
--- @state charge_log 2 '<time> <amount> <lane> <end> <kind> <receipt>' in the field of its number, the number in 'r:<receipt>'
local charge_log = {}

-- Parses a charge; nil if it is invalid.
function charge_log.parse(text)
  local time, amount, lane, ending, kind, receipt = string.match(text, '^(%d+) (%d+) ([1-9]) (%d+) (%l+) (.*)$')
  -- Three numbers of at most 16 digits, a digit, and a kind.
  if not receipt or #text - #receipt > 66 then
    return nil
  end
  local time_us, amount_micros, end_us = time + 0, amount + 0, ending + 0
  if math.max(time_us, amount_micros, end_us) > 9007199254740992 then
    return nil
  end
  return {time_us = time_us, amount_micros = amount_micros, lane = lane + 0, end_us = end_us, kind = kind, receipt = receipt}
end

-- The receipt is concatenated, because Lua's %s ends at a NUL.
function charge_log.format(time_us, amount_micros, lane, end_us, kind, receipt)
  return string.format('%d %d %d %d ', time_us, amount_micros, lane, end_us) .. kind .. ' ' .. receipt
end

function charge_log.refusal(bucket)
  return refusal.state(bucket, 'lacks a charge or a sum, or holds an invalid one')
end

return charge_log
