--- The server's clock: the only file that reads time, and the only one that sets an expiry.
---
--- Times are whole microseconds since 1970. Tests replace this file with one whose clock they control.
--- @lib clock
local clock = {}

-- The last time that was read, and its two texts. Redis 7.0 prints a number argument with 17 digits, which takes longer than most
-- commands, so cached text is sent instead of numbers.
-- rlfunc:ignore library-state the last time that was read, with its texts
local last = {us = 0, time = {'0', '0'}}

-- Spans that calls send repeatedly, as text in milliseconds, at most 256. The keys are negated: gopher-lua allocates a table up
-- to its greatest number.
-- rlfunc:ignore library-state a span has one text
local spans = {texts = {}, count = 0}

-- Formats a span in milliseconds, rounded up, and caches the text.
local function keep(span_us)
  if spans.count == 256 then
    spans.texts = {}
    spans.count = 0
  end
  local text = string.format('%d', math.ceil(span_us / 1000))
  spans.texts[-span_us] = text
  spans.count = spans.count + 1
  return text
end

-- Returns the server's time, read once per call.
function clock.now_us()
  local time = redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  last.us = now_us
  last.time = time
  return now_us
end

-- Returns the text of a time, for a command.
function clock.text(time_us)
  local time = last.time
  if time_us == last.us and #time[2] == 6 then
    return time[1] .. time[2]
  end
  return string.format('%d', time_us)
end

-- Returns the milliseconds of a span that calls repeat, such as a window, rounded up, as text.
function clock.span_ms(span_us)
  return spans.texts[-span_us] or keep(span_us)
end

-- Parses a stored time; nil if it is invalid: NaN, infinity, a fraction or negative.
function clock.parse_us(text)
  local time_us = tonumber(text)
  if time_us and time_us >= 0 and time_us <= 9007199254740992 and time_us % 1 == 0 then
    return time_us
  end
  return nil
end

-- Reports whether what is stored was written by a wrong clock: it is further ahead of now than the window that it counts in, and does not
-- count. What is less far ahead was written before the clock was set back, and counts as if time stood still until then.
function clock.is_wrong(ahead_us, window_us)
  return ahead_us > window_us
end

-- Returns the milliseconds a key has left: -2 without the key, -1 without an expiry.
function clock.left_ms(key)
  return redis.call('PTTL', key)
end

-- Stores a value that expires after a whole number of milliseconds, at least 1.
function clock.store(key, value, ttl_ms)
  redis.call('SET', key, value, 'PX', ttl_ms)
end

-- Stores a value that expires at a unix time in whole milliseconds, which must not be over.
function clock.store_until(key, value, end_ms)
  redis.call('SET', key, value, 'PXAT', end_ms)
end

-- Stores a value that expires after a span that calls repeat, such as a window.
function clock.store_for(key, value, span_us)
  redis.call('SET', key, value, 'PX', spans.texts[-span_us] or keep(span_us))
end

-- Lets a key expire, rounded up to a millisecond, because an expiry of 0 would delete it.
function clock.expire(key, ttl_us)
  redis.call('PEXPIRE', key, (ttl_us + -ttl_us % 1000) / 1000)
end

-- Lets a key expire at a time, which must not be over.
function clock.expire_at(key, end_us)
  redis.call('PEXPIREAT', key, math.ceil(end_us / 1000))
end

-- Extends a key's expiry by a span that calls repeat, but never shortens it: for keys that hold entries of several callers. Returns whether
-- none of them needs the key longer.
function clock.extend(key, span_us)
  local ttl_ms = spans.texts[-span_us] or keep(span_us)
  return redis.call('PEXPIRE', key, ttl_ms, 'GT') == 1 or redis.call('PEXPIRE', key, ttl_ms, 'NX') == 1
end

-- Lets a key expire at a time, or later if it would.
function clock.extend_until(key, end_us)
  local end_ms = math.ceil(end_us / 1000)
  if redis.call('PEXPIREAT', key, end_ms, 'NX') == 0 then
    redis.call('PEXPIREAT', key, end_ms, 'GT')
  end
end

-- Lets a key expire after a span that calls repeat.
function clock.expire_after(key, span_us)
  redis.call('PEXPIRE', key, spans.texts[-span_us] or keep(span_us))
end

return clock
