--- Tries a code. A right one can be used once; a wrong one costs a try.
---
--- After the last try the code is void, even if it is right.
--- @subject the user
--- @key    code        hash[code]              'code', the 'tries' that are left, and 'issued', when it was issued
--- @arg    digits      text[4..10]             what the user typed in
--- @result outcome     enum(right,wrong,void)  void: there is no code, or it has been tried too often
--- @result tries       count[0..10]            tries that are left
local function enter(code, digits)
  local left = redis.call('HINCRBY', code, 'tries', -1)
  if left < 0 then
    redis.call('HSET', code, 'tries', 0)
    return 'void', 0
  end
  local right = redis.call('HGET', code, 'code')
  if right == digits then
    redis.call('DEL', code)
    return 'right', 0
  end
  return 'wrong', math.min(left, 10)
end
