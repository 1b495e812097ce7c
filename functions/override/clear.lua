--- Clears the override of a subject.
---
--- Overrides whose time is over go as well.
--- @use clock override_set
--- @key    bucket          hash[overrides]      the overrides of a namespace, by subject
--- @arg    subject         text[512]            the subject, as it was set
--- @result existed         bool                 whether it had an override that was not over
--- @result overrides       count[0..1000]       how many hold now: 0 to 999
--- @error  RLSTATE                              the key holds what is no override
local function clear(bucket, subject)
  local clock_us = clock.now_us()
  local held, no_held = override_set.read(bucket, clock_us)
  if not held then
    return nil, no_held
  end
  local existed = override_set.remove(held, subject)
  if existed then
    held.gone[#held.gone + 1] = subject
  end
  if #held.gone > 0 then
    override_set.finish(bucket, held, clock_us)
  end
  return existed, #held.rows
end
