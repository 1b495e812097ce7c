  local signed = {}

  -- Parses a canonical whole number that may be below 0, or returns nil. -0 is not canonical.
  function signed.whole(text)
    if string.sub(text, 1, 1) ~= '-' then
      return rlfunc_whole(text)
    end
    local number = rlfunc_whole(string.sub(text, 2))
    if not number or number == 0 then
      return nil
    end
    return 0 - number
  end

  -- Parses a decimal number such as 0.25, -3 or 1e-07, or returns nil: no blank, hex, leading zero, NaN, infinity or -0.
  function signed.number(text)
    if #text > 32 then
      return nil
    end
    local whole, rest = string.match(text, '^-?(%d+)(.*)$')
    if not whole or #whole > 1 and string.sub(whole, 1, 1) == '0' then
      return nil
    end
    rest = string.gsub(rest, '^%.%d+', '', 1)
    if rest ~= '' and not string.find(rest, '^[eE][+-]?%d+$') then
      return nil
    end
    local number = tonumber(text)
    if not number or number - number ~= 0 then -- infinite
      return nil
    end
    if number == 0 and string.sub(text, 1, 1) == '-' then
      return nil
    end
    return number
  end

  -- Formats a number with the fewest of 15 to 17 digits that read back as the same number.
  function signed.text(number)
    for digits = 15, 16 do
      local text = string.format('%.' .. digits .. 'g', number)
      if tonumber(text) == number then
        return text
      end
    end
    return string.format('%.17g', number)
  end

  return signed
