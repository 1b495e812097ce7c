package bundle

// wire is the Lua that every entry shares. Its names begin with rlfunc_, so an author's names can not meet them; it
// touches math, string and tonumber only inside functions, as they do not exist while Redis loads a library.
const wire = `-- Texts that were found to be canonical, and their numbers: callers send the same few limits and windows over and over.
local rlfunc_numbers = {}
local rlfunc_kept = {count = 0}

-- The number of a canonical whole number, or nil: no sign, blank, exponent, hex, NaN or leading zero. Looked up in
-- rlfunc_numbers first, which holds 256 at most.
local function rlfunc_integer(text)
  if text ~= '0' and (#text > 16 or not string.find(text, '^[1-9]%d*$')) then
    return nil
  end
  if rlfunc_kept.count == 256 then
    rlfunc_kept.count = 0
    for kept in pairs(rlfunc_numbers) do
      rlfunc_numbers[kept] = nil
    end
  end
  local number = tonumber(text)
  rlfunc_kept.count = rlfunc_kept.count + 1
  rlfunc_numbers[text] = number
  return number
end

-- What a reply can carry: a result outside 0 .. 2^53 is cut to it, NaN is 0.
local function rlfunc_clamp(number)
  if number > 9007199254740992 then
    return 9007199254740992
  end
  return 0
end

-- A key or text as one line of a reply.
local function rlfunc_line(text)
  return (string.gsub(string.sub(text, 1, 200), '[^\32-\126]', '?'))
end

-- The reply to an error inside a function, or nil and what to raise again: a key of another type than the header says is
-- unreadable state. What is raised again carries the server's mark that it comes from inside, so that a caller does not
-- take it for a refusal to run.
local function rlfunc_failed(failure, keys, expected)
  local text = failure
  if type(failure) == 'table' then
    text = failure.err
  end
  if type(text) ~= 'string' then
    return {err = 'ERR error without a text'}
  end
  if string.find(text, '^WRONGTYPE') then
    local unlike
    for i = 1, #keys do
      local found = redis.call('TYPE', keys[i]).ok
      local wanted = expected(i)
      if wanted == 'any' then
        unlike = unlike or found ~= 'none' and {err = 'RLSTATE ' .. rlfunc_line(keys[i]) .. ': holds a ' .. found .. ', which its kind does not'}
      elseif found ~= 'none' and found ~= wanted then
        return {err = 'RLSTATE ' .. rlfunc_line(keys[i]) .. ': holds a ' .. found .. ', not a ' .. wanted}
      end
    end
    if unlike then
      return unlike
    end
  end
  if type(failure) == 'table' then
    return nil, failure
  end
  return nil, rlfunc_line(text)
end
`
