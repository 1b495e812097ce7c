--- Whole numbers as stored text.
--- @lib whole_number
local whole_number = {}

-- Returns the number, or nil unless the text is a whole number from 1 to 2^53 - 1 as INCRBY writes it, without a leading zero,
-- fraction, exponent, hex or blank.
function whole_number.parse(text)
  if #text > 16 or not string.find(text, '^[1-9]%d*$') then
    return nil
  end
  local number = text + 0
  if number <= 9007199254740991 then
    return number
  end
  return nil
end

-- Returns the text of a number, for a command: Redis 7.0 prints number arguments with 17 digits, which takes longer than to send a text.
function whole_number.text(number)
  if number == 1 then
    return '1'
  end
  return string.format('%d', number)
end

return whole_number
