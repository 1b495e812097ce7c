--- Fixed windows of several lengths in one string, for callers that share a bucket: a charge counts in all of them. Also a single
--- window of a limit that is too large for fixed_window_count.
---
--- An ended window begins again with the next admission of any caller. A window of a new length begins where it would have begun
--- if it had been known: with the oldest active window that began within that length. The window of the last admitted caller is
--- first; a ninth window replaces the last of eight.
--- @use clock whole_number
--- @lib fixed_window_shared
--- @state fixed_window_shared 1 '<length> <ahead> <used>' of each window, joined by ';': its length, how long before the key expires it ends, both in
---     milliseconds, and its use
local fixed_window_shared = {}

local max_windows = 8
local max_used = 9007199254740991

-- Formats the windows for a key that has total_ms left.
local function text(windows, total_ms)
  local parts = {}
  for i = 1, #windows do
    local window = windows[i]
    parts[i] = string.format('%.0f %.0f %.0f', window.length_ms, total_ms - window.left_ms, window.used)
  end
  return table.concat(parts, ';')
end

-- Parses the value of a key that has total_ms left; nil if it is invalid. A window that has ended, or is from a wrong clock, has
-- no use and no time left.
local function parse(stored, total_ms)
  local only_ms, only = whole_number.parse(string.sub(stored, 1, -8), 315360000000), tonumber(string.match(stored, '^%d+$', -7))
  if only_ms and only and only >= 1 then
    return {{length_ms = only_ms, left_ms = total_ms, used = only}}
  end
  local windows = {}
  for length, ahead, taken in string.gmatch(stored, '(%d+) (%d+) (%d+)') do
    local length_ms, ahead_ms, used = tonumber(length), tonumber(ahead), tonumber(taken)
    if length_ms and ahead_ms and used and used <= max_used then
      windows[#windows + 1] = {length_ms = length_ms, left_ms = total_ms - ahead_ms, used = used}
    end
  end
  if #windows == 0 or #windows > max_windows or text(windows, total_ms) ~= stored then
    return nil
  end
  return windows
end

-- Returns the windows of a key that holds none of another length.
function fixed_window_shared.only(length_ms, left_ms, used)
  return {own = {length_ms = length_ms, left_ms = left_ms, used = used}, new = false, others = {}, total_ms = left_ms}
end

-- Returns how long ago a window began; 0 for one that begins in the future.
local function elapsed_ms(window)
  return math.max(window.length_ms - window.left_ms, 0)
end

-- Reads the windows of a key that has total_ms left: the caller's own, of that length, whether it is new, the others, and
-- total_ms; nil if the value is invalid.
function fixed_window_shared.read(stored, total_ms, length_ms)
  local windows = parse(stored, total_ms)
  if not windows then
    return nil
  end
  local own, new, others = {length_ms = length_ms, left_ms = 0, used = 0}, true, {}
  for i = 1, #windows do
    local window = windows[i]
    if window.used == 0 or window.left_ms <= 0 or window.left_ms > 2 * window.length_ms then
      window.ahead_ms = window.left_ms
      window.ahead_used = window.used
      window.left_ms = 0
      window.used = 0
    end
    if window.length_ms == length_ms then
      own = window
      new = false
    else
      others[#others + 1] = window
    end
  end
  for i = 1, #others do
    local left_ms = length_ms - elapsed_ms(others[i])
    if new and others[i].left_ms > 0 and left_ms > 0 then
      own.used = math.max(own.used, others[i].used)
      if own.left_ms == 0 or left_ms < own.left_ms then
        own.left_ms = left_ms
      end
    end
  end
  return {own = own, new = new, others = others, total_ms = total_ms}
end

-- Returns how long until a window of a new length would begin after one that has left_ms left, or until that one ends.
local function start_after_ms(own, window, left_ms)
  return math.min(own.length_ms - window.length_ms + left_ms, left_ms)
end

-- Returns how long until the use of the caller's window is at most room: until it ends, or for a new length until it would begin
-- after each window that has more use, including those that begin in the future.
function fixed_window_shared.wait_ms(windows, room)
  if not windows.new then
    return windows.own.left_ms
  end
  local wait_ms = 0
  for i = 1, #windows.others do
    local window = windows.others[i]
    if window.used > room then
      wait_ms = math.max(wait_ms, start_after_ms(windows.own, window, window.left_ms))
    end
  end
  -- If the clock was set back, a window that is too far ahead of it may be active by then.
  for _ = 1, #windows.others do
    for i = 1, #windows.others do
      local window = windows.others[i]
      local left_ms = (window.ahead_ms or 0) - wait_ms
      if left_ms > 0 and left_ms <= 2 * window.length_ms and (window.ahead_used or 0) > room then
        wait_ms = wait_ms + math.max(start_after_ms(windows.own, window, left_ms), 0)
      end
    end
  end
  return wait_ms
end

-- Returns all windows that are kept, the caller's own first.
local function listed(windows)
  local all = {windows.own}
  for i = 1, math.min(#windows.others, max_windows - 1) do
    all[i + 1] = windows.others[i]
  end
  return all
end

-- Charges cost to all windows, and returns how long the caller's own has left.
function fixed_window_shared.charge(key, windows, cost)
  local all, total_ms = listed(windows), 0
  for i = 1, #all do
    local window = all[i]
    if window.left_ms == 0 then
      window.left_ms = window.length_ms
    end
    window.used = math.min(window.used + cost, max_used)
    total_ms = math.max(total_ms, window.left_ms)
  end
  if total_ms == windows.total_ms then
    redis.call('SET', key, text(all, total_ms), 'KEEPTTL')
  else
    clock.store(key, text(all, total_ms), total_ms)
  end
  return windows.own.left_ms
end

-- Refunds cost to the caller's own window and to those that began no later, in which the charge certainly counted. Returns how
-- much was refunded, how much is still used, and how long the window has left.
function fixed_window_shared.refund(key, windows, cost)
  local own = windows.own
  local back = math.min(own.used, cost)
  if windows.new or back == 0 then
    return 0, own.used, own.left_ms
  end
  local all, since_ms, taken = listed(windows), elapsed_ms(own), 0
  for i = 1, #all do
    local window = all[i]
    if window.left_ms > 0 and elapsed_ms(window) >= since_ms then
      window.used = math.max(window.used - back, 0)
    end
    if window.used == 0 then
      window.left_ms = 0
    end
    taken = taken + window.used
  end
  if taken > 0 then
    redis.call('SET', key, text(all, windows.total_ms), 'KEEPTTL')
  else
    redis.call('DEL', key)
  end
  return back, own.used, own.left_ms
end

return fixed_window_shared
