--- A challenge as a field of its subject's hash, named by its token: '<state> <expires> <issued> <number> <most> <payload>'.
---
--- The state is open, or used once it is consumed. Times are microseconds in 16 digits, so each has a fixed position. Challenges
--- of a subject are numbered in the order of their issue, in 13 digits; most is that call's max_outstanding, in 2 digits.
--- @use clock refusal
--- @lib challenge_record
--- @state challenge_record 1 '<state> <expires> <issued> <number> <most> <payload>' in the field of the token
local challenge_record = {}

-- Reads a record as of clock_us: its state, and when it expires and was issued. The state is 'expired' after its time, and if a
-- wrong clock issued it further ahead than it lives. Or nil and a refusal.
function challenge_record.read(key, text, clock_us)
  local state = string.sub(text, 1, 4)
  local expires_us, issued_us = clock.parse_us(string.sub(text, 6, 21)), clock.parse_us(string.sub(text, 23, 38))
  if not expires_us or not issued_us or state ~= 'open' and state ~= 'used' or #text < 56 then
    return nil, refusal.state(key, 'holds no challenge')
  end
  if expires_us <= clock_us or issued_us - clock_us > expires_us - issued_us then
    return 'expired', expires_us, issued_us
  end
  return state, expires_us, issued_us
end

-- Returns the number of a valid record.
function challenge_record.number(text)
  return tonumber(string.sub(text, 40, 52)) or 0
end

-- Returns the max_outstanding of the call that issued a record.
function challenge_record.max_outstanding(text)
  return tonumber(string.sub(text, 54, 55)) or 0
end

-- Returns the payload of a valid record.
function challenge_record.payload(text)
  return string.sub(text, 57)
end

-- Formats the record of a new challenge.
function challenge_record.open(expires_us, issued_us, number, max_outstanding, payload)
  return string.format('open %016.0f %016.0f %013.0f %02.0f ', expires_us, issued_us, number, max_outstanding) .. payload
end

-- Checks whether a challenge can be consumed for this payload or nil: consumed, replayed, expired_or_unknown or mismatch, and its
-- record. Writes nothing. Or nil and a refusal.
function challenge_record.check(key, token, payload, clock_us)
  local text = redis.call('HGET', key, token)
  if not text then
    return 'expired_or_unknown'
  end
  local state, no_record = challenge_record.read(key, text, clock_us)
  if not state then
    return nil, no_record
  end
  if state == 'expired' then
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

-- Consumes a challenge whose record check returned. Its payload is forgotten.
function challenge_record.consume(key, token, text)
  redis.call('HSET', key, token, 'used' .. string.sub(text, 5, 56)) -- rlfunc:ignore missing-ttl issue gave the key its expiry, and HSET keeps it
end

-- Makes a consumed challenge usable again for this payload or nil.
function challenge_record.reopen(key, token, text, payload)
  redis.call('HSET', key, token, 'open' .. string.sub(text, 5, 56) .. (payload or ''))
end

return challenge_record
