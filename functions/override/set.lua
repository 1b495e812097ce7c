--- Sets an override of a subject, replacing its current one. A top-up of a budget (effect add) replaces only that of the same budget.
---
--- Expired overrides are deleted first. If there are 1,000 others, the call returns RLFULL and changes nothing.
--- @use clock override_set refusal
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject and budget
--- @arg    target          text[512]            a subject, or a prefix of addresses: user=42, ip=203.0.113.0/24
--- @arg    effect          enum(allow,deny,multiply,add) allow: never limited. deny: always refused. multiply: factor times each limit.
---     add: amount more of one budget
--- @arg    duration        duration[1ms..3650d] how long it lasts
--- @arg    by              text[128]            operator that sets it
--- @arg    reason          text[256]            why it is set
--- @arg    factor          count[1..1000000]=1  factor for each limit of the subject; ignored unless effect is multiply
--- @arg    next            time?                when the budget's next period starts: it expires then at the latest
--- @arg    budget          text[32]?            the budget that gets more
--- @arg    unit            text[32]?            unit of the budget: tokens; money when omitted
--- @arg    amount          micros[1..1000000000000000]? how much more; of a unit, whole ones
--- @must   effect ~= 'add' or budget and amount_micros: it adds that to a budget
--- @must   effect == 'add' or not (budget or amount_micros or unit or next_us): only add is about a budget
--- @result replaced        bool                 whether it replaced one that had not expired
--- @result version         count                new version of the overrides, see list: 1767323045678901
--- @result ends            time                 when it expires, by the server's clock
--- @result overrides       count[0..1000]       active overrides after the call: 1 to 1000
--- @error  RLARG                                next is not in the future
--- @error  RLFULL                               there are 1,000 other overrides
--- @error  RLSTATE                              the key holds data that is not an override
local function set(bucket, target, effect, duration_us, by, reason, factor, next_us, budget, unit, amount_micros)
  local clock_us = clock.now_us()
  local left_us = duration_us
  if next_us then
    left_us = math.min(left_us, next_us - clock_us)
  end
  if left_us <= 0 then
    return nil, refusal.argument('next must be above now')
  end
  local overrides, unreadable = override_set.read(bucket, clock_us)
  if not overrides then
    return nil, unreadable
  end
  local replaced = #override_set.remove(overrides, target, budget or '') > 0
  if #overrides.rows >= override_set.max_overrides then
    return nil, {err = 'RLFULL a namespace has at most 1000 overrides: clear one first'}
  end
  local times = 1
  if effect == 'multiply' then
    times = factor
  end
  local row = {
    subject = target, budget = budget or '', unit = unit or '', effect = effect, factor = times, amount_micros = amount_micros or 0,
    ends_us = clock_us + left_us, set_us = clock_us, left_us = left_us, by = by, reason = reason,
  }
  overrides.rows[#overrides.rows + 1] = row
  return replaced, override_set.store(bucket, overrides, clock_us, row), row.ends_us, #overrides.rows
end
