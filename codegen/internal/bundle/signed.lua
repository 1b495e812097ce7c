  local signed = {}

  -- A canonical whole number that may be below 0. -0 is not canonical.
  function signed.int(name, text, least, most)
    local below = string.sub(text, 1, 1) == '-'
    local number = rlfunc.whole(below and string.sub(text, 2) or text)
    if number and below then
      number = number > 0 and 0 - number or nil
    end
    if not number or number < least or number > most then
      rlfunc.outside(name, 'a whole number from %.0f to %.0f', least, most)
    end
    return number
  end

  -- Parses a decimal number such as 0.25, -3 or 1e-07, or returns nil: no blank, hex, leading zero, NaN, infinity or -0.
  local function decimal(text)
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

  function signed.float(name, text, least, most)
    local number = decimal(text)
    if number and number >= least and number <= most then
      return number
    end
    if least == -math.huge and most == math.huge then
      rlfunc.refuse(name, 'be a finite number')
    elseif least == -math.huge then
      rlfunc.outside(name, 'a number at most %.0f', most)
    elseif most == math.huge then
      rlfunc.outside(name, 'a number at least %.0f', least)
    end
    rlfunc.outside(name, 'a number from %.0f to %.0f', least, most)
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
