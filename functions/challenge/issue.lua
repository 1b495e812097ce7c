--- Stores a one-time challenge, or returns an unused one of the subject.
---
--- An unused challenge that was issued for the same payload less than reuse_within ago is returned instead. So a double
--- click or a retry creates one challenge. If max_outstanding are unused, the latest for the same payload is returned,
--- however old. If none is for that payload, the oldest one is deleted among those issued with the same max_outstanding
--- or a lower one. The same token again, unused and for the same payload, is a retry of this call.
---
--- A subject has at most 128 challenges, 64 of them unused. Beyond that, the oldest consumed ones are deleted early:
--- consuming one then returns expired_or_unknown instead of replayed.
--- @use clock refusal challenge_record challenge_set
--- @key    bucket          hash[challenges]     the subject's challenges, by token
--- @arg    token           text[128]            new challenge, from a random source: fcall.NewToken
--- @arg    ttl             duration[1ms..3650d] how long it can be consumed
--- @arg    payload         text[1024]?          what it is for; consume must receive the same
--- @arg    reuse_within    duration[1ms..3650d]? for how long after its issue an unused challenge is returned instead; never when omitted
--- @arg    max_outstanding count[1..64]=64      most unused challenges of the subject
--- @result token           text[128]            challenge to use: token, or the one that is returned instead
--- @result reused          bool                 whether it had been issued before
--- @result expires_after   duration             how long it can be consumed: 5 minutes for a new one with that ttl
--- @result outstanding     count[0..1000]       unused challenges of the subject, including this one: 1 to 64
--- @error  RLARG                                token is known for another payload, or was consumed
--- @error  RLSTATE                              the key holds data that is not a challenge
local function issue(bucket, token, ttl_us, payload, reuse_within_us, max_outstanding)
  local purpose = payload or ''
  local clock_us = clock.now_us()
  local set, no_set = challenge_set.read(bucket, clock_us)
  if not set then
    return nil, no_set
  end
  for i = 1, #set.used do
    if set.used[i].token == token then
      return nil, refusal.argument('token must be new: it was consumed')
    end
  end
  local reused
  for i = 1, #set.open do
    local record = set.open[i]
    if record.token == token then
      if challenge_record.payload(record.text) ~= purpose then
        return nil, refusal.argument('token must be new: it is known for another payload')
      end
      reused = record
    end
  end
  if not reused and (reuse_within_us or #set.open >= max_outstanding) then
    local last = challenge_set.last_for(set, purpose)
    if last and (#set.open >= max_outstanding or reuse_within_us and set.now_us - last.issued_us < reuse_within_us) then
      reused = last
    end
  end
  if reused then
    return reused.token, true, reused.expires_us - clock_us, #set.open
  end
  local outstanding = challenge_set.add(bucket, set, clock_us, token, ttl_us, purpose, max_outstanding)
  return token, false, set.now_us + ttl_us - clock_us, outstanding
end
