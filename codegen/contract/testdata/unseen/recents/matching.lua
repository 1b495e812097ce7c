--- Lists terms of all users that contain a word, those of the last searches first; writes nothing.
--- @flags  no-writes
--- @subject the tenant
--- @key    terms       zset[terms]                    terms of all users by the time of their last search
--- @arg    word        text[2..50]                    the word
--- @arg    most        count[1..20]=10                most terms to list
--- @result terms       list[0..20] of text[100]       the terms
--- @result others      bool                           whether more terms contain it
local function matching(terms, word, most)
  local found = redis.call('ZREVRANGE', terms, 0, -1)
  local fitting, others = {}, false
  for i = 1, #found do
    if string.find(found[i], word, 1, true) then
      if #fitting == most then
        others = true
        break
      end
      fitting[#fitting + 1] = found[i]
    end
  end
  return fitting, others
end
