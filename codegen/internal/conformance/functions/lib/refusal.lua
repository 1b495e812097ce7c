--- Error replies: a code of ours, then one line that is safe to send.
--- @lib refusal
local refusal = {}

-- An argument that its own bounds do not rule out, but another argument does.
function refusal.argument(text)
  return {err = 'RLARG ' .. text}
end

-- A key whose content is not what this library writes. A key may hold any byte: only printable ones go into a reply.
function refusal.state(key, text)
  local line = string.gsub(string.sub(key, 1, 200), '[^\32-\126]', '?')
  return {err = 'RLSTATE ' .. line .. ': ' .. text}
end

return refusal
