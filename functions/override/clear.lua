--- Clears the override of a subject.
---
--- Expired overrides are deleted as well.
--- @use clock override_set
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject
--- @arg    target          text[512]            the subject whose override it is, as passed to set
--- @result existed         bool                 whether it had an override that had not expired
--- @result overrides       count[0..1000]       active overrides after the call: 0 to 999
--- @error  RLSTATE                              the key holds data that is not an override
local function clear(bucket, target)
  local clock_us = clock.now_us()
  local overrides, unreadable = override_set.read(bucket, clock_us)
  if not overrides then
    return nil, unreadable
  end
  local existed = override_set.remove(overrides, target)
  if existed then
    overrides.expired[#overrides.expired + 1] = target
  end
  if #overrides.expired > 0 then
    override_set.store(bucket, overrides, clock_us)
  end
  return existed, #overrides.rows
end
