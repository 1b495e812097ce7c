--- The periods of the calendar that a row names: the one before its own, its own, and the next. The server's clock decides between them.
--- @lib calendar_period
local calendar_period = {}

-- Returns where the period of a time starts and ends; nil if it is none of the row's.
function calendar_period.at(row, at_us)
  if at_us < row.previous_us or at_us >= row.after_us then
    return nil
  elseif at_us < row.start_us then
    return row.previous_us, row.start_us
  elseif at_us < row.next_us then
    return row.start_us, row.next_us
  end
  return row.next_us, row.after_us
end

return calendar_period
