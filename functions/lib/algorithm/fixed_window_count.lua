--- A fixed window in one string: its length and its use. The key expires with the window.
---
--- The length is in milliseconds, followed by the use in seven digits, so a call inside the window is one INCRBY. If the limit has more
--- digits, or callers have windows of other lengths, fixed_window_shared keeps the use.
--- @use clock refusal fixed_window_shared
--- @lib fixed_window_count
--- @state fixed_window_count 1 the window in milliseconds, then its use in seven digits: '600000000003'; the key expires with the window
local fixed_window_count = {}

local largest_short = 9999999 -- the largest limit whose use fits seven digits

-- Reads the window from the key's value. Returns its use and the milliseconds until it ends, 0 and 0 if none is active; and if
-- the key holds other lengths, all windows, this one first. Or nil and a refusal. A window ends in the millisecond in which its
-- key has none left. A window that begins in the future began now, and ends with its key; further ahead than its length, it is
-- from a wrong clock and is over.
local function read(key, stored, window_ms)
  local left_ms = clock.left_ms(key)
  if left_ms ~= -1 and string.sub(stored, 1, -8) == clock.span_ms(window_ms * 1000) then
    local used = tonumber(string.match(stored, '^%d+$', -7))
    if used and used >= 1 then
      if left_ms <= 0 or left_ms > 2 * window_ms then
        return 0, 0
      end
      return used, left_ms
    end
  end
  local windows = left_ms ~= -1 and fixed_window_shared.read(stored, left_ms, window_ms)
  if not windows then
    return nil, refusal.state(key, 'holds no count that expires')
  end
  return windows.own.used, windows.own.left_ms, windows
end

-- Checks a call of that cost. Returns allowed, what is left without it, the time until the window ends, 0 if the call begins one,
-- the wait until cost is allowed, and what charge needs if fixed_window_shared keeps the use; or nil and a refusal.
function fixed_window_count.check(key, limit, window_ms, cost)
  local stored = redis.call('GET', key)
  if not stored then
    return true, limit, 0, 0, limit > largest_short and fixed_window_shared.only(window_ms, 0, 0)
  end
  local used, left_ms, windows = read(key, stored, window_ms)
  if not used then
    return nil, left_ms
  end
  if used + cost <= limit then
    return true, limit - used, left_ms * 1000, 0, windows or limit > largest_short and fixed_window_shared.only(window_ms, left_ms, used)
  end
  local wait_ms = left_ms
  if windows then
    wait_ms = fixed_window_shared.wait_ms(windows, limit - cost)
  end
  return false, math.max(limit - used, 0), math.max(left_ms, wait_ms) * 1000, wait_ms * 1000
end

-- Charges cost, which check allowed, and returns the time until the window ends.
function fixed_window_count.charge(key, cost, window_ms, end_us, windows)
  if windows then
    return fixed_window_shared.charge(key, windows, cost) * 1000
  end
  if end_us > 0 then
    local amount = cost
    if cost == 1 then
      amount = '1' -- Redis 7.0 prints a number argument with 17 digits, which takes longer than to send it
    end
    redis.call('INCRBY', key, amount)
    return end_us
  end
  local amount = '0000001'
  if cost ~= 1 then
    amount = string.format('%07.0f', cost)
  end
  clock.store_for(key, clock.span_ms(window_ms * 1000) .. amount, window_ms * 1000)
  return window_ms * 1000
end

-- Refunds cost to the active window. Returns how much was refunded, what is left, and the time until the window ends; or nil and a
-- refusal. A window without use is deleted.
function fixed_window_count.refund(key, limit, window_ms, cost)
  local stored = redis.call('GET', key)
  if not stored then
    return 0, limit, 0
  end
  local used, left_ms, windows = read(key, stored, window_ms)
  if not used then
    return nil, left_ms
  end
  local back = math.min(used, cost)
  if windows then
    back, used, left_ms = fixed_window_shared.refund(key, windows, back)
  elseif back > 0 and back == used then
    redis.call('DEL', key)
    used = 0
    left_ms = 0
  elseif back > 0 then
    redis.call('DECRBY', key, back)
    used = used - back
  end
  return back, math.max(limit - used, 0), left_ms * 1000
end

return fixed_window_count
