package bundle

// wire is the Lua that all entries share. Its names begin with rlfunc_, so they cannot clash with an author's. It uses math, string and
// tonumber only inside functions, because they do not exist while Redis loads a library.
const wire = `-- Parses a canonical whole number up to 2^53, or returns nil: no sign, blank, exponent, hex, NaN or leading zero.
-- 2^53 + 1 would be parsed as 2^53, so texts of 16 digits are compared as texts.
local function rlfunc_whole(text)
  if text == '0' then
    return 0
  end
  if #text > 16 or not string.find(text, '^[1-9]%d*$') or #text == 16 and text > '9007199254740992' then
    return nil
  end
  return tonumber(text)
end

-- Caches parsed counts and durations, which callers repeat. A number that is used again moves from older to recent; when recent holds
-- 256, it replaces older.
local rlfunc_recent, rlfunc_older, rlfunc_kept = {}, {}, 0

-- Parses a text that is not in rlfunc_recent, and adds it.
local function rlfunc_parse(text)
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

-- Formats a key or text as one line of a reply.
local function rlfunc_line(text)
  return (string.gsub(string.sub(text, 1, 200), '[^\32-\126]', '?'))
end

-- Returns the reply to an error inside a function, or nil and the error to raise again. A key of another type than the header declares
-- is unreadable state; a third result says that the user lacks a permission. Each of parts lists the types of a run of keys that is repeated rows times; a prepared row of part.of may set
-- redis_type for its key of any type. An error that is raised again keeps the server's mark that the function raised it, so that a
-- caller does not mistake it for a refusal to run.
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
        unlike = unlike or found ~= 'none' and {err = 'RLSTATE ' .. rlfunc_line(keys[i]) .. ': holds a ' .. found .. ', not the type of its kind'}
      elseif found ~= 'none' and found ~= wanted then
        return {err = 'RLSTATE ' .. rlfunc_line(keys[i]) .. ': holds a ' .. found .. ', not a ' .. wanted}
      end
    end
    if unlike then
      return unlike
    end
  end
  local denied = string.find(text, 'ACL failure in script', 1, true) or string.find(text, "The user executing the script can't", 1, true)
  if type(failure) == 'table' then
    return nil, failure, denied
  end
  return nil, rlfunc_line(text), denied
end

-- Returns the error that names the commands which the caller's user may not run, or nil. A function asks before it begins: on its first call
-- after a load, and on a thousand calls after a command was refused. To ask on every call would cost a tenth of it.
local function rlfunc_lacking(name, key, commands)
  local lacking = ''
  for _, command in ipairs(commands) do
    local words = {}
    for word in string.gmatch(command, '[^|]+') do
      words[#words + 1] = word
    end
    -- Redis 7.0 looks for keys behind the end of a command that is too short, and 8.0.2 refuses a number of words that it does not take.
    for i = #words + 1, 8 do
      words[i] = key
    end
    local known, allowed
    repeat
      known, allowed = pcall(redis.acl_check_cmd, unpack(words))
      words[#words] = nil
    until known or #words == 0
    if known and not allowed then
      lacking = lacking .. ' +' .. command
    end
  end
  if lacking ~= '' then
    return {err = 'NOPERM the user needs' .. lacking .. ' for ' .. name}
  end
end
`
