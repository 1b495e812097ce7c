--- Calibrates a device: what is added to each of its values, so that the newest one becomes what was measured by hand.
---
--- Without a value there is nothing to calibrate, and nothing is written. Adjustments add up to at most 1000000 either way.
--- @subject the device
--- @key    values      list[values]               the last 60 values, newest first, each '<value>@<time in microseconds>'
--- @key    trim        string[trim] forever       what is added to each value, in thousandths
--- @arg    measured    int[-1000000..1000000]     what was measured by hand, in thousandths
--- @result outcome     enum(done,same,no_value,too_far) same: the device was right. too_far: the device is off by more
--- @result trim        int[-1000000..1000000]     what is added to each value after the call
--- @refused outcome no_value too_far
local function calibrate(values, trim, measured)
  local before = math.max(math.min(tonumber(redis.call('GET', trim)) or 0, 1000000), -1000000)
  local newest = redis.call('LINDEX', values, 0)
  local value = newest and tonumber(string.match(newest, '^(-?%d+)@'))
  if not value then
    return 'no_value', before
  end
  local after = measured - value
  if after == before then
    return 'same', before
  end
  if after > 1000000 or after < -1000000 then
    return 'too_far', before
  end
  if after == 0 then
    redis.call('DEL', trim)
  else
    redis.call('SET', trim, string.format('%d', after))
  end
  return 'done', after
end
