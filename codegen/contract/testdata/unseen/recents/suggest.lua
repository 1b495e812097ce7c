--- Lists searches of a user that begin with what has been typed, newest first; writes nothing.
--- @flags  no-writes
--- @subject the tenant
--- @key    recent      list[recent:<user>]            the user's last searches, newest first
--- @arg    user        text[64]                       who types
--- @arg    typed       text[0..100]                   what has been typed
--- @arg    most        count[1..20]=5                 most searches to list
--- @result searches    list[0..20] of text[100]       the searches
--- @result others      bool                           whether more searches fit
local function suggest(recent, user, typed, most)
  local found = redis.call('LRANGE', recent, 0, 19)
  local searches, others = {}, false
  for i = 1, #found do
    if string.sub(found[i], 1, #typed) == typed then
      if #searches == most then
        others = true
        break
      end
      searches[#searches + 1] = found[i]
    end
  end
  return searches, others
end
