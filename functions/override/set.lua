--- Sets the override of a subject, replacing its current one.
---
--- Expired overrides are deleted first. If 1,000 other subjects have an override, the call returns RLFULL and changes
--- nothing.
--- @use clock override_set
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject
--- @arg    target          text[512]            a subject, or a prefix of addresses: user=42, ip=203.0.113.0/24
--- @arg    effect          enum(allow,deny,multiply) allow: never limited. deny: always refused. multiply: factor times each limit
--- @arg    duration        duration[1ms..3650d] how long it lasts
--- @arg    by              text[128]            operator that sets it
--- @arg    reason          text[256]            why it is set
--- @arg    factor          count[1..1000000]=1  factor for each limit of the subject; ignored unless effect is multiply
--- @result replaced        bool                 whether the subject had one that had not expired
--- @result version         count                new version of the overrides, see list: 1767323045678901
--- @result ends            time                 when it expires, by the server's clock
--- @result overrides       count[0..1000]       active overrides after the call: 1 to 1000
--- @error  RLFULL                               1,000 other subjects have an override
--- @error  RLSTATE                              the key holds data that is not an override
local function set(bucket, target, effect, duration_us, by, reason, factor)
  local clock_us = clock.now_us()
  local overrides, unreadable = override_set.read(bucket, clock_us)
  if not overrides then
    return nil, unreadable
  end
  local replaced = override_set.remove(overrides, target)
  if #overrides.rows >= override_set.max_overrides then
    return nil, {err = 'RLFULL a namespace has at max_overrides 1000 overrides: clear one first'}
  end
  local times = 1
  if effect == 'multiply' then
    times = factor
  end
  local row = {
    subject = target, effect = effect, factor = times, ends_us = clock_us + duration_us, set_us = clock_us,
    left_us = duration_us, by = by, reason = reason,
  }
  overrides.rows[#overrides.rows + 1] = row
  return replaced, override_set.store(bucket, overrides, clock_us, row), row.ends_us, #overrides.rows
end
