--- A subject's attempts in one string: when they were made, when blocks began, and which tiers started one.
---
--- A head precedes the newest attempts, at most 12; older ones are in pages. Without strikes, marks and pages the string is 'n',
--- the retention and the times. Otherwise it is 'h', the retention, five counts, the strikes, the marks and the times. The counts
--- are: attempts at most, pages, number of the next page, strikes, marks.
---
--- A mark holds the threshold and window of a tier that has started a block, and the time of the attempt that did. After the
--- block that tier counts again from there, while other tiers keep counting.
--- @use clock refusal packed_times attempt_retention attempt_pages tier_marks
--- @lib attempt_log
--- @state attempt_log 1 'n<need><times>' or 'h<need><counts><strikes><marks><times>', times of 16 digits, oldest first
local attempt_log = {}

local function unreadable(key)
  return nil, refusal.state(key, 'holds no times of attempts')
end

local no_pages, nothing = {count = 0, number = 0, widened = false}, {}

-- Returns an empty log. It has sixteen fields, because a seventeenth would double the table's memory.
local function new(retention, clock_us)
  return {
    retention = retention, times = '', tail = 0, live = 0, pages = no_pages, oldest_us = clock_us, now_us = clock_us, restarts = nil, marks = '',
    strike_times = '', kept = 0, strikes = 0, strikes_kept = 0, strike_us = clock_us, rows = nothing, tier = 0,
  }
end

attempt_log.new = new

-- Reads the counts of a head into a log. Returns the position behind its marks, or nil.
local function read_head(log, text, widened)
  local counts = string.sub(text, 37, 59)
  if #counts < 23 or not string.find(counts, '^%d+$') then
    return nil
  end
  if string.sub(counts, 6, 9) ~= '0000' then
    log.live = math.floor(string.sub(counts, 1, 5))
    log.pages = {count = math.floor(string.sub(counts, 6, 9)), number = math.floor(string.sub(counts, 10, 19)), widened = widened}
  end
  local marks_at = 60 + 16 * string.sub(counts, 20, 21)
  local times_at = marks_at + tier_marks.width * string.sub(counts, 22, 23)
  if #text < times_at - 1 then
    return nil
  end
  log.strike_times = string.sub(text, 60, marks_at - 1)
  log.marks = string.sub(text, marks_at, times_at - 1)
  return times_at
end

-- Reads the log as of clock_us for a call that needs max_count attempts of longest_us and strikes of memory_us. Returns nil and a
-- refusal if it is unreadable. If the newest attempt is further ahead than the longest window, a wrong clock wrote it, and the
-- log is empty.
function attempt_log.read(key, clock_us, max_count, longest_us, memory_us, blocked)
  local text = redis.call('GET', key)
  if not text then
    return new(attempt_retention.widen(nil, max_count, longest_us, memory_us), clock_us)
  end
  local stored, retention, times_at = attempt_retention.parse(string.sub(text, 1, 36)), nil, 37
  if not stored then
    return unreadable(key)
  end
  retention = stored
  if stored.max_count < max_count or stored.longest_us < longest_us or stored.memory_us < memory_us then
    retention = attempt_retention.widen(stored, max_count, longest_us, memory_us)
  end
  local log = new(retention, clock_us)
  if stored.headed then
    times_at = read_head(log, text, retention.longest_us > stored.longest_us)
    if not times_at then
      return unreadable(key)
    end
  end
  local times = string.sub(text, times_at)
  if times == '' and stored.headed then
    log.live = 0
    log.marks = ''
    return log
  end
  local oldest_us, newest_us = clock.parse_us(string.sub(times, 1, 16)), clock.parse_us(string.sub(times, -16))
  if not oldest_us or not newest_us or #times % 16 > 0 then
    return unreadable(key)
  end
  if newest_us - clock_us > retention.longest_us then
    log.live = 0
    log.marks = ''
    return log
  end
  log.times = times
  log.tail = math.floor(#times / 16)
  if log.pages.count == 0 then
    log.live = log.tail
  end
  log.oldest_us = oldest_us
  if newest_us > clock_us then
    log.now_us = newest_us
  end
  if log.marks ~= '' then
    local newest_restarts, restarts = tier_marks.read(log.marks, newest_us, blocked)
    if newest_restarts == nil then
      return unreadable(key)
    end
    log.restarts = restarts
    if newest_restarts and not blocked then
      -- Later attempts need a later time, even in the same microsecond.
      log.now_us = math.max(log.now_us, newest_us + 1)
    end
  end
  return log
end

-- Returns the number of attempts later than horizon_us; or nil and a refusal.
function attempt_log.count_after(key, pages, log, horizon_us)
  local count = log.tail
  if log.oldest_us <= horizon_us then
    count = packed_times.count_after(log.times, log.tail, horizon_us)
    if not count then
      return unreadable(key)
    end
  elseif log.live > log.tail then
    local older, failure = attempt_pages.count_after(pages, log.pages.number, horizon_us)
    if not older then
      return nil, failure
    end
    count = count + older
  end
  return math.min(count, log.live)
end

-- Returns the number of attempts in the tier's window since its last block; or nil and a refusal.
function attempt_log.count_for_tier(key, pages, log, tier)
  local horizon_us = log.now_us - tier.window_us
  if log.restarts then
    horizon_us = math.max(horizon_us, log.restarts[tier_marks.name(tier)] or 0)
  end
  return attempt_log.count_after(key, pages, log, horizon_us)
end

-- Returns the times of the newest `max` attempts, or of a few more; or nil and a refusal.
function attempt_log.newest(pages, log, max_count)
  if log.live == log.tail then
    return log.times
  end
  local older, failure = attempt_pages.newest(pages, math.ceil(max_count / attempt_pages.size))
  if not older then
    return nil, failure
  end
  return packed_times.newest(older .. log.times, log.live)
end

-- Writes the pages for a call that keeps log.kept of the attempts and adds one.
local function turn_pages(key, log, clock_us)
  local pages, tail, ttl_us = log.pages, log.tail, log.retention.longest_us + log.now_us - clock_us
  if log.kept <= tail then
    if pages.count > 0 then
      attempt_pages.clear(key)
      log.pages = no_pages
      pages = no_pages
    end
    tail = log.kept
  end
  if tail == attempt_pages.size then
    if pages.count == 0 then
      attempt_pages.clear(key)
    end
    local count = attempt_pages.push(key, pages.number, log.times, ttl_us)
    log.pages = {count = count, number = pages.number + 1, widened = false}
    log.times = ''
    return
  end
  if pages.count == 0 then
    return
  end
  local excess = pages.count - math.ceil((log.kept - tail) / attempt_pages.size)
  if excess > 0 then
    log.pages = {count = pages.count - attempt_pages.trim(key, excess), number = pages.number, widened = false}
  end
  if pages.widened then
    clock.expire(key, ttl_us)
  end
end

-- Adds an attempt, as text, and stores the log until the last attempt and the last strike no longer count.
function attempt_log.append(key, pages, log, now, clock_us)
  local retention, kept = log.retention, log.kept
  if kept < log.tail then
    log.times = packed_times.newest(log.times, kept)
  end
  if log.pages.count > 0 or kept >= attempt_pages.size then
    turn_pages(pages, log, clock_us)
  end
  local strike_times, marks, count = log.strike_times, log.marks, log.pages.count
  local head, kept_us = retention.plain, retention.longest_us + log.now_us
  if count > 0 or strike_times ~= '' or marks ~= '' then
    head = retention.head .. string.format('%05d%04d%010.0f%02d%02d', kept + 1, count, log.pages.number, #strike_times / 16, #marks / tier_marks.width) .. strike_times .. marks
    if strike_times ~= '' and log.strike_us + retention.memory_us > kept_us then
      kept_us = log.strike_us + retention.memory_us
    end
  end
  local span_us = kept_us - clock_us
  if span_us == retention.longest_us or span_us == retention.memory_us then
    clock.store_for(key, head .. log.times .. now, span_us)
  else
    clock.store(key, head .. log.times .. now, math.ceil(span_us / 1000))
  end
end

-- Forgets the attempts, and returns whether there were any. The strikes remain, and the key's expiry is unchanged.
function attempt_log.forget(key, pages)
  local text = redis.call('GET', key)
  if not text then
    return false
  end
  local retention = attempt_retention.parse(string.sub(text, 1, 36))
  if not retention then
    return unreadable(key)
  end
  if not retention.headed then
    return redis.call('UNLINK', key, pages) > 0
  end
  local log = new(attempt_retention.none, 0)
  local times_at = read_head(log, text, false)
  if not times_at then
    return unreadable(key)
  end
  if log.strike_times == '' then
    return redis.call('UNLINK', key, pages) > 0
  end
  if #text < times_at then
    return false
  end
  attempt_pages.clear(pages)
  local kept = retention.head .. string.format('%019d%02d00', 0, #log.strike_times / 16) .. log.strike_times
  redis.call('SET', key, kept, 'KEEPTTL')
  return true
end

return attempt_log
