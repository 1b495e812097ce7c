--- Consumes a challenge: however many callers try, exactly one gets consumed.
---
--- One that was consumed is replayed until its ttl would have ended. A mismatch leaves the challenge as it is.
--- @use clock challenge_record
--- @key    bucket          hash[challenges]     the subject's challenges by token
--- @arg    token           text[128]            the challenge
--- @arg    payload         text[1024]?          what it was issued for; absent is another payload than any text
--- @result outcome         enum(consumed,replayed,expired_or_unknown,mismatch) what became of it; mismatch: it is for another payload
--- @refused outcome replayed expired_or_unknown mismatch
--- @error  RLSTATE                              the key holds what is no challenge
local function consume(bucket, token, payload)
  local outcome, text = challenge_record.judge(bucket, token, payload, clock.now_us())
  if not outcome then
    return nil, text
  end
  if outcome == 'consumed' then
    challenge_record.consume(bucket, token, text)
  end
  return outcome
end
