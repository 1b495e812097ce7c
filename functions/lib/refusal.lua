--- Error replies: a code, then one line that is safe to send.
--- @lib refusal
local refusal = {}

-- Refuses an argument that another argument rules out.
function refusal.argument(text)
  return {err = 'RLARG ' .. text}
end

-- Refuses a row that has the key of an earlier one: two rows would be one. Returns nil if none has.
function refusal.same_key(keys, place, text)
  for i = 1, place - 1 do
    if keys[i] == keys[place] then
      return refusal.argument(text)
    end
  end
  return nil
end

-- Reports a key with data that this library did not write. Keys may hold any byte; only printable ones go into a reply.
function refusal.state(key, text)
  local line = string.gsub(string.sub(key, 1, 200), '[^\32-\126]', '?')
  return {err = 'RLSTATE ' .. line .. ': ' .. text}
end

return refusal
