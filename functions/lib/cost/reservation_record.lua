--- What a receipt has reserved: a key of its own, which expires.
---
--- It says when that was, until when the estimate counts unless it is settled, and how much of each budget it was. A settlement leaves that,
--- so that a repeat is known; if nothing was spent, the receipt has paid nothing.
--- @use clock refusal
--- @lib reservation_record
--- @state reservation_record 2 'r' reserved or 's' settled, two times in microseconds; then a line '<budget>=<amount>' for each budget, which is its key, without 'namespace:{subject}:spent' if that is the reservation's own
local reservation_record = {}

-- Returns the name of a budget's key in a reservation of that key.
local function name_of(key, budget_key)
  local own = string.find(key, '}', 1, true) or 0
  if string.sub(budget_key, 1, own) == string.sub(key, 1, own) then
    return string.sub(budget_key, own + #':spent' + 1)
  end
  return budget_key
end

-- Returns what a key says, false if it does not exist; or nil and a refusal.
function reservation_record.read(key)
  local stored = redis.call('GET', key)
  if not stored then
    return false
  end
  local state, made, stop, rest = string.match(stored, '^([rs]) (%d+) (%d+)(.*)$')
  local found = {key = key, settled = state == 's', made_us = clock.parse_us(made), until_us = clock.parse_us(stop), amounts = {}}
  for line in string.gmatch(rest or '', '[^\n]+') do
    local name, amount = string.match(line, '^(.*)=(%d+)$')
    found.amounts[name or ''] = clock.parse_us(amount)
    if not found.amounts[name or ''] then
      return nil, refusal.state(key, 'holds no reservation')
    end
  end
  if not found.made_us or not found.until_us then
    return nil, refusal.state(key, 'holds no reservation')
  end
  return found
end

-- Returns what a reservation has of a budget, or nil.
function reservation_record.of(self, budget_key)
  return self.amounts[name_of(self.key, budget_key)]
end

-- Writes a reservation of the budgets that are charged. Without keep_us it is kept as long as before.
function reservation_record.write(key, settled, made_us, until_us, all, keep_us)
  local text = string.format('%s %s %d', settled and 's' or 'r', clock.text(made_us), until_us)
  for i = 1, #all do
    if all[i].charged then
      text = string.format('%s\n%s=%d', text, name_of(key, all[i].key), all[i].charged_micros)
    end
  end
  if keep_us then
    clock.store_for(key, text, keep_us)
  else
    redis.call('SET', key, text, 'KEEPTTL')
  end
end

return reservation_record
