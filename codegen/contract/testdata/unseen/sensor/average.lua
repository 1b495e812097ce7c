--- Returns the average, the least and the greatest of the last values of a device; writes nothing.
--- @flags  no-writes
--- @subject the device
--- @key    values      list[values]               the last 60 values, newest first, each '<value>@<time in microseconds>'
--- @key    trim        string[trim] forever       what is added to each value, in thousandths
--- @result values      count[0..60]               values that were averaged
--- @result average     float[-2000000..2000000]   their average, with the calibration; 0 without values
--- @result least       int[-2000000..2000000]?    the least
--- @result greatest    int[-2000000..2000000]?    the greatest
local function average(values, trim)
  local added = math.max(math.min(tonumber(redis.call('GET', trim)) or 0, 1000000), -1000000)
  local found = redis.call('LRANGE', values, 0, -1)
  local sum, n = 0, 0
  local least, greatest
  for i = 1, math.min(#found, 60) do
    local value = tonumber(string.match(found[i], '^(-?%d+)@'))
    if value and math.abs(value) <= 1000000 then
      sum = sum + value
      n = n + 1
      if not least or value < least then
        least = value
      end
      if not greatest or value > greatest then
        greatest = value
      end
    end
  end
  if n == 0 then
    return 0, 0, nil, nil
  end
  return n, sum / n + added, least + added, greatest + added
end
