local row = {}

--- Decides whether somebody is to be told of a value, which is outside its limits: once, and again after a while.
---
--- A value within its limits ends the alarm, so that the next one is told at once.
--- @use clock
--- @subject the device
--- @key    told        string[told]               is there while nobody is to be told again
--- @arg    value       int[-1000000..1000000]     the value, in thousandths
--- @arg    low         int[-1000000..1000000]     the least value within the limits
--- @arg    high        int[-1000000..1000000]     the greatest value within the limits
--- @arg    pause       duration[1m..1d]           how long nobody is told again
--- @result outside     bool                       whether the value is outside its limits
--- @result tell        bool                       whether somebody is to be told
--- @result alarms      count[0..1000000]          alarms of the device that were told in a row; 0 within the limits
local function alarm(told, value, low, high, pause_us)
  if value >= low and value <= high then
    redis.call('DEL', told)
    row[told] = nil
    return false, false, 0
  end
  local alarms = row[told] or 0
  if redis.call('EXISTS', told) == 1 then
    return true, false, alarms
  end
  alarms = math.min(alarms + 1, 1000000)
  row[told] = alarms
  clock.store_for(told, '1', pause_us)
  return true, true, alarms
end
