--- Consumes a challenge: of any number of concurrent callers, exactly one gets consumed.
---
--- A consumed challenge is reported as replayed until its ttl would have ended. A mismatch leaves the challenge
--- unchanged.
--- @use clock challenge_record
--- @key    bucket          hash[challenges]     the subject's challenges, by token
--- @arg    token           text[128]            the challenge
--- @arg    payload         text[1024]?          what it was issued for; omitted differs from every text
--- @result outcome         enum(consumed,replayed,expired_or_unknown,mismatch) result of the call; mismatch: the challenge is for another
---     payload
--- @refused outcome replayed expired_or_unknown mismatch
--- @error  RLSTATE                              the key holds data that is not a challenge
local function consume(bucket, token, payload)
  local outcome, text = challenge_record.check(bucket, token, payload, clock.now_us())
  if not outcome then
    return nil, text
  end
  if outcome == 'consumed' then
    challenge_record.consume(bucket, token, text)
  end
  return outcome
end
