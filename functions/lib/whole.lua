--- Whole numbers out of stored text.
--- @lib whole
local whole = {}

-- The number, or nil when the text is no whole number from 0 to 2^53: NaN, an infinity, a fraction are not.
function whole.parse(text)
  local number = tonumber(text)
  if number and number >= 0 and number <= 9007199254740992 and number % 1 == 0 then
    return number
  end
  return nil
end

return whole
