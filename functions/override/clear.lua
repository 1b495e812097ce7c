--- Clears the overrides of a subject, or its top-up of one budget, or all overrides of a namespace, including unreadable ones.
---
--- Expired overrides are deleted as well.
--- @use clock override_set
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject and budget
--- @arg    target          text[512]?           the subject whose overrides they are, as passed to set
--- @arg    budget          text[32]?            the budget whose top-up it is; all overrides of the subject when omitted
--- @arg    all             bool?                whether to clear those of every subject
--- @must   target or all: it says whose overrides to clear
--- @must   not (all and (target or budget)): all of them are cleared
--- @result existed         bool                 whether there was one that had not expired
--- @result overrides       count[0..1000]       active overrides after the call: 0 to 999
--- @error  RLSTATE                              the key holds data that is not an override
local function clear(bucket, target, budget, all)
  if all or not target then
    return redis.call('DEL', bucket) > 0, 0
  end
  local clock_us = clock.now_us()
  local overrides, unreadable = override_set.read(bucket, clock_us)
  if not overrides then
    return nil, unreadable
  end
  local removed = override_set.remove(overrides, target, budget)
  for i = 1, #removed do
    overrides.expired[#overrides.expired + 1] = removed[i]
  end
  if #overrides.expired > 0 then
    override_set.store(bucket, overrides, clock_us)
  end
  return #removed > 0, #overrides.rows
end
