--- Parses whole numbers in stored text.
--- @lib whole_number
local whole_number = {}

-- Returns the number, or nil unless the text is a whole number from 1 to max as INCRBY writes it, without a leading zero,
-- fraction, exponent, hex or blank.
function whole_number.parse(text, max)
  if #text > 16 or not string.find(text, '^[1-9]%d*$') then
    return nil
  end
  local number = text + 0
  if number <= max then
    return number
  end
  return nil
end

return whole_number
