--- Receipts that were counted: one key each, which expires when the receipt is no longer known.
---
--- A receipt knows what it paid, so a repeat that costs more pays the rest. A repeat does not renew it: renewed for ever, one receipt would
--- be a free pass for ever.
--- @use clock refusal
--- @lib receipts
--- @state receipt 1 '<when it was counted, in microseconds> <what it paid> <repeats that passed>': '1767323045678901 1 0'
local receipts = {}

-- Returns what is known of a receipt: what it paid and its repeats; false without a key, if it was counted dedup_us ago or earlier, or
-- never, or if so many repeats have passed; or nil and a refusal.
function receipts.find(key, now_us, dedup_us, most_repeats)
  local stored = key and redis.call('GET', key)
  if not key or not stored then
    return false
  end
  local at, paid, repeats = string.match(stored, '^(%d+) (%d+) (%d+)$')
  local at_us = clock.parse_us(at)
  if not at_us then
    return nil, refusal.state(key, 'holds no receipt')
  end
  local passed = tonumber(repeats)
  if at_us <= now_us - dedup_us or clock.is_wrong(at_us - now_us, dedup_us) or most_repeats and passed >= most_repeats then
    return false
  end
  return {at = at, paid = tonumber(paid), repeats = passed}
end

-- Records a receipt that is counted now.
function receipts.add(key, now_us, dedup_us, paid)
  clock.store_for(key, string.format('%s %d 0', clock.text(now_us), paid), dedup_us)
end

-- Records a repeat of a known receipt, which has now paid that much.
function receipts.add_repeat(key, known, paid)
  redis.call('SET', key, string.format('%s %d %d', known.at, math.max(paid, known.paid), known.repeats + 1), 'KEEPTTL')
end

return receipts
