--- Consumes a challenge: however many callers try, exactly one gets consumed.
---
--- One that was consumed is replayed until its ttl would have ended. A mismatch leaves the challenge as it is.
--- @use clock challenge_record
--- @key    bucket          hash[challenges]     the subject's challenges by token
--- @arg    token           text[128]            the challenge
--- @arg    payload         text[1024]?          what it was issued for; absent is another payload than any text
--- @result outcome         enum(consumed,replayed,expired_or_unknown,mismatch) what became of it; mismatch: it is for another payload
--- @error  RLSTATE                              the key holds what is no challenge
local function consume(bucket, token, payload)
  local text = redis.call('HGET', bucket, token)
  if not text then
    return 'expired_or_unknown'
  end
  local state, no_record = challenge_record.read(bucket, text, clock.now_us())
  if not state then
    return nil, no_record
  end
  if state == 'gone' then
    return 'expired_or_unknown'
  end
  if state == 'used' then
    return 'replayed'
  end
  if challenge_record.payload(text) ~= (payload or '') then
    return 'mismatch'
  end
  redis.call('HSET', bucket, token, challenge_record.used(text)) -- rlfunc:ignore missing-ttl issue gave the key its expiry, and HSET keeps it
  return 'consumed'
end
