--- Gives up an attempt whose work failed, so that a repeat may begin at once.
--- @key    record      hash[record]  token, fingerprint and reply of the request
--- @arg    token       text[64]      the attempt that began
--- @result abandoned   bool          false: finished, or another attempt has begun
--- @refused abandoned
local function abandon(record, token)
  local found = redis.call('HMGET', record, 'token', 'reply')
  if found[1] ~= token or found[2] then
    return false
  end
  redis.call('DEL', record)
  return true
end
