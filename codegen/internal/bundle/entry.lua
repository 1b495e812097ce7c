  local entry = {none = {}} -- none: the rows of a group without any

  -- The row whose fields are read.
  local group, place

  -- Ends the call: entry.failed answers with the error. Rows count from 0, as the names of arguments do.
  local function refuse(name, must)
    if group then
      name = group .. '.' .. place .. (name == '' and '' or '.' .. name)
    end
    error({err = 'RLARG ' .. name .. ' must ' .. must}, 0)
  end
  entry.refuse = refuse

  -- Says which row's fields are read next; without one, none's.
  function entry.in_row(name, number)
    group = name
    place = number
  end

  -- Parses a canonical whole number up to 2^53, or returns nil: no sign, blank, exponent, hex, NaN or leading zero.
  -- 2^53 + 1 would be parsed as 2^53, so texts of 16 digits are compared as texts.
  local function whole(text)
    if text == '0' then
      return 0
    end
    if #text > 16 or not text:find('^[1-9]%d*$') or #text == 16 and text > '9007199254740992' then
      return nil
    end
    return tonumber(text)
  end
  entry.whole = whole

  local function outside(name, form, least, most)
    refuse(name, 'be ' .. string.format(form, least, most))
  end
  entry.outside = outside

  function entry.count(name, text, least, most)
    local number = whole(text)
    if not number or number < least or number > most then
      outside(name, 'a whole number from %.0f to %.0f', least, most)
    end
    return number
  end

  function entry.duration(name, text, least, most)
    local number = whole(text)
    if not number or number < least or number > most then
      outside(name, 'from %.0f to %.0f microseconds', least, most)
    end
    return number
  end

  function entry.micros(name, text, least, most)
    local number = whole(text)
    if not number or number < least or number > most then
      outside(name, 'from %.0f to %.0f micros', least, most)
    end
    return number
  end

  function entry.time(name, text, least, most)
    local number = whole(text)
    if not number or number < least or number > most then
      outside(name, 'from %.0f to %.0f microseconds since 1970', least, most)
    end
    return number
  end

  function entry.bool(name, text)
    if text ~= '1' and text ~= '0' then
      refuse(name, 'be 1 or 0')
    end
    return text == '1'
  end

  -- A text of a row may be none.
  function entry.text(name, text, least, most)
    if not text or #text < least or #text > most then
      outside(name, '%.0f to %.0f bytes', least, most)
    end
    return text
  end

  -- words are those that the text may be, as `one, two`.
  function entry.enum(name, text, words)
    if text == '' or string.find(text, ',', 1, true) or not string.find(', ' .. words .. ', ', ', ' .. text .. ', ', 1, true) then
      refuse(name, 'be one of ' .. words)
    end
    return text
  end

  -- An argument whose values callers repeat, such as a limit or a window: those that `read` has found to be right, by their texts, at most
  -- 256. An entry looks there first.
  function entry.repeated(read, name, least, most)
    return {known = {}, count = 0, read = read, name = name, least = least, most = most}
  end

  -- Reads a text that is not among the known ones, and adds it.
  function entry.learn(argument, text)
    local number = argument.read(argument.name, text, argument.least, argument.most)
    if argument.count == 256 then
      argument.known = {}
      argument.count = 0
    end
    argument.known[text] = number
    argument.count = argument.count + 1
    return number
  end

  local function amount(least, most, what)
    if least ~= most then
      return string.format('%d to %d %ss', least, most, what)
    end
    return string.format('%d %s%s', most, what, most == 1 and '' or 's')
  end

  -- Refuses a call with too few or too many keys or arguments.
  function entry.arity(name, least_keys, most_keys, least, most)
    refuse(name, 'be called with ' .. amount(least_keys, most_keys, 'key') .. ' and ' .. amount(least, most, 'argument'))
  end

  -- Refuses an empty hash tag. It would be shared by all callers without a name, and on a cluster the keys of a call would not share a slot.
  function entry.subject(key)
    if string.find(key, '{}', 1, true) then
      refuse('subject', 'not be empty')
    end
  end

  -- Refuses a call that has not as many keys as its arguments say.
  function entry.other_number(name, wanted)
    refuse(name, 'be called with ' .. amount(wanted, wanted, 'key') .. ', as its arguments say')
  end

  -- Returns one of the keys of each of a group's rows: that which stands at `first`, and every `step` keys from there. lists has those that
  -- earlier calls have filled, by their length: a new table would cost a twentieth of a decision.
  function entry.row_keys(name, lists, keys, first, step, rows)
    local list = lists[rows]
    if not list then
      list = {}
      lists[rows] = list
    end
    for i = 1, rows do
      local key = keys[first + (i - 1) * step]
      if key and key:find('{}', 1, true) then
        refuse(name .. '.' .. i - 1 .. '.of', 'not be empty')
      end
      list[i] = key
    end
    return list
  end

  -- Returns the keys behind all others, each of a subject of its own.
  function entry.other_keys(name, keys, at, most)
    if #keys - at > most then
      refuse(name, 'be at most ' .. most .. ' keys')
    end
    return {unpack(keys, at + 1)}
  end

  -- Returns a text as one line of a reply.
  local function line(text)
    return (string.gsub(string.sub(text, 1, 200), '[^\32-\126]', '?'))
  end

  -- Returns the answer to an error that a command gave for a key of another type than the header says: the key is unreadable state. types
  -- are the types of keys by the first word of their suffix; `any` is one of several, and a row that was prepared may say which. Returns
  -- nil if all keys are as they should be.
  local function unlike(keys, types)
    local first
    for _, key in ipairs(keys) do
      local suffix = string.match(key, '}:([^:]*)') or ''
      local found, wanted = redis.call('TYPE', key).ok, types[suffix]
      for _, row in ipairs(types.rows or entry.none) do
        if wanted == 'any' and row.kind == suffix then
          wanted = row.redis_type
        end
      end
      if found ~= 'none' and wanted == 'any' then
        first = first or {err = 'RLSTATE ' .. line(key) .. ': holds a ' .. found .. ', not the type of its kind'}
      elseif found ~= 'none' and wanted and found ~= wanted then
        return {err = 'RLSTATE ' .. line(key) .. ': holds a ' .. found .. ', not a ' .. wanted}
      end
    end
    return first
  end

  -- Returns the reply to a call that has returned nothing or has raised an error, also where it refuses; or nil and what is raised again.
  -- That keeps the server's mark that the function raised it, so that a caller does not mistake it for a refusal to run.
  function entry.failed(ok, reply, keys, types)
    group = nil
    if ok then
      return {err = 'ERR the function has returned neither a result nor an error'}
    end
    local text = type(reply) == 'table' and reply.err or reply
    if type(text) ~= 'string' then
      return {err = 'ERR error without a text'}
    end
    if string.find(text, '^RLARG ') then
      return {err = text}
    end
    local state = string.find(text, '^WRONGTYPE') and unlike(keys, types)
    if state then
      return state
    end
    return nil, type(reply) == 'table' and reply or line(text)
  end

  return entry
