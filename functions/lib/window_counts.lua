--- Fixed windows of several lengths in one string, for callers that share a bucket: what one takes counts in all of them.
---
--- A window whose time is over begins again with the next admission of any caller. One of a new length begins where it would have
--- begun had it been known: with the oldest window of another length that is going on and is inside of it. The window of the caller that
--- was admitted last stands first; of eight the last is forgotten where a ninth comes.
--- @use clock whole
--- @lib window_counts
--- @state window_counts 1 '<length> <ahead> <used>' of each window, joined by ';': its length and how long before the key expires it ends, in milliseconds, and what was taken since it began
local window_counts = {}

local most = 8

-- What the windows are stored as, in a key that has total_ms left.
local function text(windows, total_ms)
  local parts = {}
  for i = 1, #windows do
    local window = windows[i]
    parts[i] = string.format('%.0f %.0f %.0f', window.length_ms, total_ms - window.left_ms, window.used)
  end
  return table.concat(parts, ';')
end

-- The windows in the text of a key that has total_ms left; nil when it is none. One that is over has nothing taken and
-- nothing left, and so has one from a wrong clock.
local function parse(stored, total_ms)
  local only_ms, only = whole.parse(string.sub(stored, 1, -8), 315360000000), tonumber(string.match(stored, '^%d+$', -7))
  if only_ms and only and only >= 1 and only <= 1000000 then
    return {{length_ms = only_ms, left_ms = total_ms, used = only}}
  end
  local windows = {}
  for length, ahead, taken in string.gmatch(stored, '(%d+) (%d+) (%d+)') do
    local length_ms, ahead_ms, used = tonumber(length), tonumber(ahead), tonumber(taken)
    if length_ms and ahead_ms and used then
      windows[#windows + 1] = {length_ms = length_ms, left_ms = total_ms - ahead_ms, used = used}
    end
  end
  if #windows == 0 or #windows > most or text(windows, total_ms) ~= stored then
    return nil
  end
  return windows
end

-- How long ago a window began: now where that is ahead of the clock.
local function gone_ms(window)
  return math.max(window.length_ms - window.left_ms, 0)
end

-- Reads the windows of a key that has total_ms left: its own, of that length, whether that is new, the others, and total_ms; nil
-- when it holds none.
function window_counts.read(stored, total_ms, length_ms)
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
    local left_ms = length_ms - gone_ms(others[i])
    if new and others[i].left_ms > 0 and left_ms > 0 then
      own.used = math.max(own.used, others[i].used)
      if own.left_ms == 0 or left_ms < own.left_ms then
        own.left_ms = left_ms
      end
    end
  end
  return {own = own, new = new, others = others, total_ms = total_ms}
end

-- How long until a window of a new length would begin behind one that has left_ms left, or until that one ends.
local function behind_ms(own, window, left_ms)
  return math.min(own.length_ms - window.length_ms + left_ms, left_ms)
end

-- How long until no more than room is taken in a caller's own window, which has more: until it ends; of a new length until
-- it would begin behind each window that has more, also where one begins ahead of the clock.
function window_counts.wait_ms(windows, room)
  if not windows.new then
    return windows.own.left_ms
  end
  local wait_ms = 0
  for i = 1, #windows.others do
    local window = windows.others[i]
    if window.used > room then
      wait_ms = math.max(wait_ms, behind_ms(windows.own, window, window.left_ms))
    end
  end
  -- When the clock was set back, a window that is too far ahead of it may be going on by then.
  for _ = 1, #windows.others do
    for i = 1, #windows.others do
      local window = windows.others[i]
      local left_ms = (window.ahead_ms or 0) - wait_ms
      if left_ms > 0 and left_ms <= 2 * window.length_ms and (window.ahead_used or 0) > room then
        wait_ms = wait_ms + math.max(behind_ms(windows.own, window, left_ms), 0)
      end
    end
  end
  return wait_ms
end

-- All windows, a caller's own first, without the one that is one too many.
local function listed(windows)
  local all = {windows.own}
  for i = 1, math.min(#windows.others, most - 1) do
    all[i + 1] = windows.others[i]
  end
  return all
end

-- Takes cost of all, and returns how long the caller's own has left.
function window_counts.charge(key, windows, cost)
  local all, total_ms = listed(windows), 0
  for i = 1, #all do
    local window = all[i]
    if window.left_ms == 0 then
      window.left_ms = window.length_ms
    end
    window.used = window.used + cost
    total_ms = math.max(total_ms, window.left_ms)
  end
  if total_ms == windows.total_ms then
    redis.call('SET', key, text(all, total_ms), 'KEEPTTL') -- rlfunc:ignore missing-ttl the longest window ends when it would have
  else
    clock.store(key, text(all, total_ms), total_ms)
  end
  return windows.own.left_ms
end

-- Gives cost back to a caller's own window, and to those in which it surely counted, as they began no later. Returns how much
-- was given back, how much is taken still, and how long the window has left.
function window_counts.refund(key, windows, cost)
  local own = windows.own
  local back = math.min(own.used, cost)
  if windows.new or back == 0 then
    return 0, own.used, own.left_ms
  end
  local all, since_ms, taken = listed(windows), gone_ms(own), 0
  for i = 1, #all do
    local window = all[i]
    if window.left_ms > 0 and gone_ms(window) >= since_ms then
      window.used = math.max(window.used - back, 0)
    end
    if window.used == 0 then
      window.left_ms = 0
    end
    taken = taken + window.used
  end
  if taken > 0 then
    redis.call('SET', key, text(all, windows.total_ms), 'KEEPTTL') -- rlfunc:ignore missing-ttl no window that is left has another end
  else
    redis.call('DEL', key)
  end
  return back, own.used, own.left_ms
end

return window_counts
