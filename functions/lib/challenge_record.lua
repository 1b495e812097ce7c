--- A challenge as a field of its subject's hash, named by its token: '<state> <expires> <issued> <number> <most> <payload>'.
---
--- The state is open, or used once it is consumed. Times are microseconds in 16 digits, so that each is found by its place.
--- Challenges of a subject are numbered as they are issued, in 13 digits; most is the max_outstanding of that call, in 2.
--- @use clock refusal
--- @lib challenge_record
--- @state challenge_record 1 '<state> <expires> <issued> <number> <most> <payload>' in the field of the token
local challenge_record = {}

-- Reads a record as a call at clock_us sees it: its state, and when it expires and was issued. The state is 'gone' when the
-- time is over, and when it was issued further ahead than it lives, by a broken clock. Or nil and a refusal.
function challenge_record.read(key, text, clock_us)
  local state = string.sub(text, 1, 4)
  local expires_us, issued_us = clock.parse_us(string.sub(text, 6, 21)), clock.parse_us(string.sub(text, 23, 38))
  if not expires_us or not issued_us or state ~= 'open' and state ~= 'used' or #text < 56 then
    return nil, refusal.state(key, 'holds no challenge')
  end
  if expires_us <= clock_us or issued_us - clock_us > expires_us - issued_us then
    return 'gone', expires_us, issued_us
  end
  return state, expires_us, issued_us
end

-- The number of a record that was read.
function challenge_record.number(text)
  return tonumber(string.sub(text, 40, 52)) or 0
end

-- The most outstanding challenges that a record's issuer allows.
function challenge_record.most(text)
  return tonumber(string.sub(text, 54, 55)) or 0
end

-- The payload of a record that was read.
function challenge_record.payload(text)
  return string.sub(text, 57)
end

-- The record of a new challenge.
function challenge_record.open(expires_us, issued_us, number, most, payload)
  return string.format('open %016.0f %016.0f %013.0f %02.0f ', expires_us, issued_us, number, most) .. payload
end

-- The record after it is consumed; what it was for is not kept.
function challenge_record.used(text)
  return 'used' .. string.sub(text, 5, 56)
end

-- What becomes of a challenge that is consumed for this payload or nil: consumed, replayed, expired_or_unknown or mismatch;
-- and its record. Nothing is written. Or nil and a refusal.
function challenge_record.judge(key, token, payload, clock_us)
  local text = redis.call('HGET', key, token)
  if not text then
    return 'expired_or_unknown'
  end
  local state, no_record = challenge_record.read(key, text, clock_us)
  if not state then
    return nil, no_record
  end
  if state == 'gone' then
    return 'expired_or_unknown'
  end
  if state == 'used' then
    return 'replayed', text
  end
  if challenge_record.payload(text) ~= (payload or '') then
    return 'mismatch', text
  end
  return 'consumed', text
end

-- Consumes a challenge whose record was read.
function challenge_record.consume(key, token, text)
  redis.call('HSET', key, token, challenge_record.used(text)) -- rlfunc:ignore missing-ttl issue gave the key its expiry, and HSET keeps it
end

-- Makes a challenge usable again that was consumed for this payload or nil; its record was read.
function challenge_record.reopen(key, token, text, payload)
  redis.call('HSET', key, token, 'open' .. string.sub(text, 5, 56) .. (payload or '')) -- rlfunc:ignore missing-ttl as above
end

return challenge_record
