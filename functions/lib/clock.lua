--- The server's clock: the only file that reads time, and the only one that sets an expiry.
---
--- Times are whole microseconds since 1970. Tests swap this file for one whose clock they move.
--- @lib clock
local clock = {}

-- The time that was read last, in two texts. Redis 7.0 prints a number argument with 17 digits, which takes longer than most
-- commands: what is at hand as text is sent as text.
local last = {us = 0, time = {'0', '0'}}

-- The milliseconds of spans that calls send over and over, as text for the same reason; 256 at most. They stand below 0: in
-- gopher-lua a table has room up to its greatest number.
local spans = {texts = {}, count = 0}

-- The text of a span that is not kept, which then is.
local function keep(span_us)
  if spans.count == 256 then
    spans.texts = {} -- rlfunc:ignore library-state a span has one text
    spans.count = 0 -- rlfunc:ignore library-state as above
  end
  local text = string.format('%.0f', math.ceil(span_us / 1000))
  spans.texts[-span_us] = text
  spans.count = spans.count + 1 -- rlfunc:ignore library-state as above
  return text
end

-- The clock, read once a call.
function clock.now_us()
  local time = redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  last.us = now_us -- rlfunc:ignore library-state with its texts, whoever asks
  last.time = time -- rlfunc:ignore library-state of that time
  return now_us
end

-- The text of a time, for a command.
function clock.text(time_us)
  local time = last.time
  if time_us == last.us and #time[2] == 6 then
    return time[1] .. time[2]
  end
  return string.format('%.0f', time_us)
end

-- The milliseconds of a span that comes over and over, as windows do, rounded up, as text.
function clock.span_ms(span_us)
  return spans.texts[-span_us] or keep(span_us)
end

-- A stored time, or nil when the text is none: NaN, an infinity, a fraction or a negative number is not.
function clock.parse_us(text)
  local time_us = tonumber(text)
  if time_us and time_us >= 0 and time_us <= 9007199254740992 and time_us % 1 == 0 then
    return time_us
  end
  return nil
end

-- Milliseconds that a key has left: -2 without the key, -1 without an expiry.
function clock.left_ms(key)
  return redis.call('PTTL', key)
end

-- Stores a value that expires. A whole number of milliseconds, at least 1.
function clock.store(key, value, ttl_ms)
  redis.call('SET', key, value, 'PX', ttl_ms)
end

-- The text of a key, which then expires in a whole number of milliseconds, at least 1; false without it.
function clock.read_until(key, ttl_ms)
  return redis.call('GETEX', key, 'PX', ttl_ms)
end

-- Stores a value that expires after a span that comes over and over.
function clock.store_for(key, value, span_us)
  redis.call('SET', key, value, 'PX', spans.texts[-span_us] or keep(span_us))
end

-- Lets a key expire, rounded up to a millisecond: an expiry of 0 would delete it.
function clock.expire(key, ttl_us)
  if ttl_us % 1000 == 0 then
    redis.call('PEXPIRE', key, ttl_us / 1000)
  else
    redis.call('PEXPIRE', key, math.ceil(ttl_us / 1000))
  end
end

-- Lets a key expire, but no sooner than it would have: for keys that hold entries of several callers.
function clock.extend(key, ttl_us)
  local ttl_ms = math.ceil(ttl_us / 1000)
  if redis.call('PEXPIRE', key, ttl_ms, 'NX') == 0 then
    redis.call('PEXPIRE', key, ttl_ms, 'GT')
  end
end

-- Lets a key expire after a span that comes over and over.
function clock.expire_after(key, span_us)
  redis.call('PEXPIRE', key, spans.texts[-span_us] or keep(span_us))
end

return clock
