--- Returns what a challenge is for and whether it can be consumed; writes nothing.
--- @use clock challenge_record
--- @flags  no-writes
--- @key    bucket          hash[challenges]     the subject's challenges, by token
--- @arg    token           text[128]            the challenge
--- @result state           enum(unused,consumed,expired_or_unknown) whether it can be consumed: only when unused
--- @result payload         text[0..1024]        what it was issued for; empty unless unused
--- @result expires_after   duration             how long it can be consumed, or is known as consumed; 0 when expired_or_unknown
--- @error  RLSTATE                              the key holds data that is not a challenge
local function peek(bucket, token)
  local text = redis.call('HGET', bucket, token)
  if not text then
    return 'expired_or_unknown', '', 0
  end
  local clock_us = clock.now_us()
  local state, expires_us = challenge_record.read(bucket, text, clock_us)
  if not state then
    return nil, expires_us
  end
  if state == 'expired' then
    return 'expired_or_unknown', '', 0
  end
  if state == 'used' then
    return 'consumed', '', expires_us - clock_us
  end
  return 'unused', challenge_record.payload(text), expires_us - clock_us
end
