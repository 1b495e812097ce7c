--- Sets the override of a subject, in place of the one that it has.
---
--- Overrides whose time is over go first. A bucket that has 1,000 others is full, which is RLFULL and changes nothing.
--- @use clock override_set
--- @key    bucket          hash[overrides]      the overrides of a namespace, by subject
--- @arg    subject         text[512]            a subject, or a prefix of addresses: user=42, ip=203.0.113.0/24
--- @arg    effect          enum(allow,deny,multiply) allow: never limited. deny: always refused. multiply: factor times each limit
--- @arg    duration        duration[1ms..3650d] how long it holds
--- @arg    by              text[128]            the operator who sets it
--- @arg    reason          text[256]            why it is set
--- @arg    factor          count[1..1000000]=1  how many times each limit the subject has; of no effect without multiply
--- @result replaced        bool                 whether the subject had one that was not over
--- @result version         count                the version of the overrides now, see list: 1767323045678901
--- @result ends            time                 when it ends, by the server's clock
--- @result overrides       count[0..1000]       how many hold now: 1 to 1000
--- @error  RLFULL                               1,000 other subjects have an override
--- @error  RLSTATE                              the key holds what is no override
local function set(bucket, subject, effect, duration_us, by, reason, factor)
  local clock_us = clock.now_us()
  local held, no_held = override_set.read(bucket, clock_us)
  if not held then
    return nil, no_held
  end
  local replaced = override_set.remove(held, subject)
  if #held.rows >= override_set.most then
    return nil, {err = 'RLFULL a namespace has at most 1000 overrides: clear one first'}
  end
  local times = 1
  if effect == 'multiply' then
    times = factor
  end
  local row = {
    subject = subject, effect = effect, factor = times, ends_us = clock_us + duration_us, set_us = clock_us,
    left_us = duration_us, by = by, reason = reason,
  }
  held.rows[#held.rows + 1] = row
  return replaced, override_set.finish(bucket, held, clock_us, row), row.ends_us, #held.rows
end
