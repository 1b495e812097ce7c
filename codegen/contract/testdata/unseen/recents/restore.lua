--- Stores the filters of a user's saved search, from a backup, and returns what is stored.
---
--- Filters are a JSON object, such as {"seller": 9007199254740991}. One that exists is kept, unless replace says otherwise. Filters without
--- a version get version 1.
--- @use clock refusal
--- @subject the tenant
--- @key    saved       string[saved:<name>]          the filters of the saved search, as JSON
--- @arg    name        text[64]                      the saved search
--- @arg    filters     json[2048]                    the filters
--- @arg    replace     bool=false                    whether it replaces one that exists
--- @arg    keep        duration[1d..366d]=366d       how long it is kept
--- @result stored      bool                          whether the filters were stored
--- @result filters     json[8192]                    the filters that are stored after the call
--- @error  RLARG                                     the filters are not an object
local function restore(saved, name, filters, replace, keep_us)
  local readable, decoded = pcall(cjson.decode, filters)
  if not readable or type(decoded) ~= 'table' or string.find(filters, '^%s*%[') then
    return nil, refusal.argument('filters must be an object')
  end
  local before = redis.call('GET', saved)
  if before and not replace then
    return false, before
  end
  if decoded.version == nil then
    decoded.version = 1
  end
  local text = cjson.encode(decoded)
  clock.store_for(saved, text, keep_us)
  return true, text
end
