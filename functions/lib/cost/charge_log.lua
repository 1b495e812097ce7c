--- A subject's charges, numbered by time: field N of the hash is charge N, and field 'r:<receipt>' is a receipt's number.
---
--- A charge has a time, an amount in micros, the lane that sums it, the end of its hold (0: with the window), a kind and a
--- receipt. The kinds are open (an estimate), settled (spent) and gone (cancelled, or its receipt was charged again).
--- @use refusal
--- @lib charge_log
--- @state charge_log 3 time, amount and end as little-endian doubles, a byte each for lane and kind (1 open, 2 settled, 3 gone) and the receipt, in the field of its number; the number in 'r:<receipt>'
local charge_log = {}

local kinds, codes = {'open', 'settled', 'gone'}, {open = 1, settled = 2, gone = 3}

-- Reports whether five stored numbers are whole, not negative, and at most 2^53.
function charge_log.whole(one, two, three, four, five)
  return one % 1 + two % 1 + three % 1 + four % 1 + five % 1 == 0 -- NaN for NaN and infinity
    and one >= 0 and two >= 0 and three >= 0 and four >= 0 and five >= 0 and one <= 9007199254740992 and two <= 9007199254740992
    and three <= 9007199254740992 and four <= 9007199254740992 and five <= 9007199254740992
end

-- Parses a charge; nil if it is invalid.
function charge_log.parse(text)
  if #text < 26 then
    return nil
  end
  local time_us, amount_micros, end_us, lane, kind = struct.unpack('<dddBB', text)
  if not charge_log.whole(time_us, amount_micros, end_us, 0, 0) or lane < 1 or lane > 9 or not kinds[kind] then
    return nil
  end
  return {time_us = time_us, amount_micros = amount_micros, lane = lane, end_us = end_us, kind = kinds[kind], receipt = string.sub(text, 27)}
end

function charge_log.format(time_us, amount_micros, lane, end_us, kind, receipt)
  return struct.pack('<dddBB', time_us, amount_micros, end_us, lane, codes[kind]) .. receipt
end

function charge_log.refusal(bucket)
  return refusal.state(bucket, 'lacks a charge or a sum, or holds an invalid one')
end

return charge_log
