--- Whole numbers out of stored text.
--- @lib whole
local whole = {}

-- The number, or nil when the text is no whole number from 1 to most as INCRBY writes it: a zero in front, a fraction, an
-- exponent, hex, NaN or a blank is not.
function whole.parse(text, most)
  if #text > 16 or not string.find(text, '^[1-9]%d*$') then
    return nil
  end
  local number = text + 0
  if number <= most then
    return number
  end
  return nil
end

return whole
