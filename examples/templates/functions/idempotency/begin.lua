--- Begins the work of a request, unless it is under way or finished.
---
--- The same token again begins again, so repeat a call whose reply was lost. A refused call writes nothing. A record that has
--- more than twice its time left is from a wrong clock, and does not count.
--- @use clock
--- @key    record      hash[record]         token, fingerprint and reply of the request, and how long it is kept; it expires with the lease, or with the kept reply
--- @arg    token       text[64]             the attempt, unique: fcall.NewToken in Go
--- @arg    fingerprint text[64]             hash of the request, to find keys that are used for two requests
--- @arg    lease       duration[1ms..1d]    how long the work may take before another caller may begin it
--- @result outcome     enum(started,finished,in_progress,mismatch) started: do the work. finished: send the reply. in_progress: try
---     again after retry_after. mismatch: the key was used for another request
--- @result reply       text[0..65536]       the reply, if finished
--- @result retry_after duration             what the lease of the other attempt has left; 0 unless in_progress
--- @refused outcome in_progress mismatch
local function begin(record, token, fingerprint, lease_us)
  local found = redis.call('HMGET', record, 'token', 'fingerprint', 'reply', 'kept_us')
  local left_us, kept_us = clock.left_ms(record) * 1000, clock.parse_us(found[4] or '0') or 0
  if left_us > 2 * kept_us then
    redis.call('DEL', record)
    kept_us = 0
  elseif found[2] and found[2] ~= fingerprint then
    return 'mismatch', '', 0
  elseif found[3] then
    return 'finished', found[3], 0
  elseif found[1] and found[1] ~= token then
    return 'in_progress', '', math.max(left_us, 1000)
  end
  kept_us = math.max(kept_us, lease_us)
  redis.call('HSET', record, 'token', token, 'fingerprint', fingerprint, 'kept_us', clock.text(kept_us))
  clock.expire(record, kept_us)
  return 'started', '', 0
end
