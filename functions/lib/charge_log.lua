--- A subject's charges, numbered by time: field N of the hash is charge N, and field 'r:<receipt>' is a receipt's number.
---
--- A charge is its time, its amount in micros, when its hold ends (0: with the window), its kind, its receipt. The kinds:
--- open (an estimate), settled (spent), gone (cancelled, or its receipt was charged anew).
--- @use refusal
--- @lib charge_log
--- @state charge_log 1 '<time> <amount> <end> <kind> <receipt>' in the field of its number, the number in 'r:<receipt>'
local charge_log = {}

-- Time, amount, end of the hold, kind and receipt in a charge's text; nil when it is none.
function charge_log.parse(text)
  text = text or ''
  local time, amount, ending, kind, receipt = string.match(text, '^(%d+) (%d+) (%d+) (%l+) (.*)$')
  -- Three numbers of 16 digits at most, and a kind.
  if not receipt or #text - #receipt > 64 then
    return nil
  end
  local time_us, amount_micros, end_us = time + 0, amount + 0, ending + 0
  if math.max(time_us, amount_micros, end_us) > 9007199254740992 then
    return nil
  end
  return time_us, amount_micros, end_us, kind, receipt
end

-- The receipt is joined: Lua's %s ends at a NUL.
function charge_log.format(time_us, amount_micros, end_us, kind, receipt)
  return string.format('%d %d %d ', time_us, amount_micros, end_us) .. kind .. ' ' .. receipt
end

-- The texts of so many charges, from one on.
function charge_log.page(bucket, from, count)
  if count == 1 then
    return {redis.call('HGET', bucket, from)}
  end
  local numbers = {}
  for i = 1, count do
    numbers[i] = from + i - 1
  end
  return redis.call('HMGET', bucket, unpack(numbers, 1, count))
end

-- When a charge leaves a window: at the end of its hold, if it has one (end_us above 0) that ends before.
function charge_log.leaves_us(row, time_us, end_us)
  local leaves_us = time_us + row.window_us
  if end_us > 0 and end_us < leaves_us then
    return end_us
  end
  return leaves_us
end

function charge_log.refusal(bucket)
  return refusal.state(bucket, 'lacks a charge, or holds one that is none')
end

-- Calls visit with number, time, amount, end, kind and receipt of each charge from one on, until it returns true; charges
-- whose hold has ended have no amount. The first page has so many, and each further one more: mostly few are looked at.
-- Returns a refusal or nil.
function charge_log.each(bucket, state, from, size, visit)
  while from < state.next do
    size = math.min(size, state.next - from)
    local page = charge_log.page(bucket, from, size) -- rlfunc:ignore key-loop pages of the charges that the caller has to pass
    for i = 1, size do
      local time_us, amount_micros, end_us, kind, receipt = charge_log.parse(page[i])
      if not time_us then
        return charge_log.refusal(bucket)
      end
      local number = from + i - 1
      if state.lapsed[number] then
        amount_micros = 0
      end
      if visit(number, time_us, amount_micros, end_us, kind, receipt) then
        return nil
      end
    end
    from = from + size
    size = math.min(size * 4, 128)
  end
  return nil
end

return charge_log
