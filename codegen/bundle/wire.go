package bundle

// wire is the Lua that every entry shares. Its names begin with rlfunc_, so an author's names can not meet them; it
// touches math, string and tonumber only inside functions, as they do not exist while Redis loads a library.
const wire = `-- The number of a canonical whole number up to 2^53, or nil: no sign, blank, exponent, hex, NaN or leading zero.
-- 2^53 + 1 would be read as 2^53, so texts of 16 digits are compared as texts.
local function rlfunc_whole(text)
  if text == '0' then
    return 0
  end
  if #text > 16 or not string.find(text, '^[1-9]%d*$') or #text == 16 and text > '9007199254740992' then
    return nil
  end
  return tonumber(text)
end

-- The numbers of counts and durations, which callers send over and over. What is used again moves from older to recent; when
-- recent holds 256, it becomes older, and what older held is forgotten.
local rlfunc_recent, rlfunc_older, rlfunc_kept = {}, {}, 0

-- What rlfunc_whole says of a text that rlfunc_recent does not hold, and then does.
local function rlfunc_known(text)
  local number = rlfunc_older[text] or rlfunc_whole(text)
  if not number then
    return nil
  end
  if rlfunc_kept == 256 then
    rlfunc_older = rlfunc_recent
    rlfunc_recent = {}
    rlfunc_kept = 0
  end
  rlfunc_recent[text] = number
  rlfunc_kept = rlfunc_kept + 1
  return number
end

-- A key or text as one line of a reply.
local function rlfunc_line(text)
  return (string.gsub(string.sub(text, 1, 200), '[^\32-\126]', '?'))
end

-- The reply to an error inside a function, or nil and what to raise again: a key of another type than the header says is
-- unreadable state. Each of parts is the types of a run of keys that comes rows times; a prepared row, of part.of, may say by redis_type
-- what its key of any type holds. What is raised again carries the server's mark that it comes from inside, so that a caller does not
-- take it for a refusal to run.
local function rlfunc_failed(failure, keys, parts)
  local text = failure
  if type(failure) == 'table' then
    text = failure.err
  end
  if type(text) ~= 'string' then
    return {err = 'ERR error without a text'}
  end
  if string.find(text, '^WRONGTYPE') then
    local types = {}
    for _, part in ipairs(parts) do
      for i = 0, part.rows * #part - 1 do
        local wanted = part[i % #part + 1]
        if wanted == 'any' and part.of then
          wanted = part.of[math.floor(i / #part) + 1].redis_type or wanted
        end
        types[#types + 1] = wanted
      end
    end
    local unlike
    for i, wanted in ipairs(types) do
      local found = redis.call('TYPE', keys[i]).ok
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
