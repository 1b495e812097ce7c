--- Receipts that were counted: one key each, which expires when the receipt is no longer known.
---
--- A receipt knows what it paid, so a repeat that costs more pays the rest. A repeat does not renew it: renewed for ever, one receipt would
--- be a free pass for ever.
--- @use clock refusal
--- @lib receipts
--- @state receipt 2 '<when it was counted, in microseconds> <weight that it paid> <repeats that passed>', then ' <budget>=<amount>' of
---     each budget that it paid, by its key: '1767323045678901 1 0 rl:{org=acme}:spent:86400000000=300000'
local receipts = {}

-- Returns what is known of a receipt: paid, the weight; budgets, the amounts that it paid by their keys; and its repeats. Returns
-- false without a key, if it was counted dedup_us ago or earlier, or never, or if so many repeats have passed; or nil and a refusal.
function receipts.find(key, now_us, dedup_us, most_repeats)
  local stored = key and redis.call('GET', key)
  if not key or not stored then
    return false
  end
  local at, paid, repeats, rest = string.match(stored, '^(%d+) (%d+) (%d+)(.*)$')
  local at_us, budgets = clock.parse_us(at), {}
  if not at_us then
    return nil, refusal.state(key, 'holds no receipt')
  end
  for blank, part in string.gmatch(rest, '(.)([^ ]*)') do
    local budget, text = string.match(part, '^(.+)=(%d+)$')
    local amount = clock.parse_us(text)
    if blank ~= ' ' or not budget or not amount then
      return nil, refusal.state(key, 'holds no receipt')
    end
    budgets[budget] = amount
  end
  local passed = tonumber(repeats)
  if at_us <= now_us - dedup_us or clock.is_wrong(at_us - now_us, dedup_us) or most_repeats and passed >= most_repeats then
    return false
  end
  return {at = at, paid = tonumber(paid), repeats = passed, budgets = budgets}
end

-- Returns what budgets have been paid, as find reads it.
local function amounts(all)
  local text = ''
  for i = 1, #all do
    if all[i].paid > 0 then
      text = text .. ' ' .. all[i].key .. '=' .. string.format('%d', all[i].paid)
    end
  end
  return text
end

-- Records a receipt that is counted now, its weight, and what it has paid of budgets.
function receipts.add(key, now_us, dedup_us, weight, budgets)
  clock.store_for(key, string.format('%s %d 0', clock.text(now_us), weight) .. amounts(budgets), dedup_us)
end

-- Records a repeat of a known receipt, which has now paid that much. It has paid nothing of budgets that the repeat does not have.
function receipts.add_repeat(key, known, weight, budgets)
  local text = string.format('%s %d %d', known.at, math.max(weight, known.paid), known.repeats + 1) .. amounts(budgets)
  redis.call('SET', key, text, 'KEEPTTL')
end

return receipts
