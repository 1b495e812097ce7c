--- A block: active for as long as its key exists.
---
--- The value says what started it: 'tier 2', 'manual', or 'manual <reason>'.
--- @use clock refusal
--- @lib block_state
--- @state block_state 1 what started the block: 'tier 2', 'manual' or 'manual <reason>'; the key expires with it
local block_state = {}

local names = {'tier 1', 'tier 2', 'tier 3', 'tier 4', 'tier 5', 'tier 6', 'tier 7', 'tier 8'}
local tier_of = {
  ['tier 1'] = 1, ['tier 2'] = 2, ['tier 3'] = 3, ['tier 4'] = 4, ['tier 5'] = 5, ['tier 6'] = 6, ['tier 7'] = 7, ['tier 8'] = 8,
}

-- Returns how many milliseconds the block has left, 0 without one; the tier that started it, 0 for an operator; and the
-- operator's reason. Or nil and a refusal. A key still exists in the millisecond in which it expires: then the block is over.
function block_state.read(key)
  local left_ms = clock.left_ms(key)
  if left_ms == -2 then
    return 0, 0, ''
  end
  local text = redis.call('GET', key) or ''
  local tier, reason = tier_of[text] or 0, ''
  if tier == 0 then
    reason = string.match(text, '^manual ?(.*)$')
  end
  if left_ms < 0 or not reason then
    return nil, refusal.state(key, 'holds no block that ends')
  end
  if left_ms == 0 then
    return 0, 0, ''
  end
  return left_ms, tier, reason
end

-- Returns the same for the first of several blocks that is active, and its position in others, 0 for the subject's: bucket, and named if it is
-- not nil.
function block_state.read_any(bucket, named, others)
  local found
  if named then
    found = redis.call('EXISTS', bucket, named, unpack(others))
  elseif #others == 0 then
    found = redis.call('EXISTS', bucket)
  else
    found = redis.call('EXISTS', bucket, unpack(others))
  end
  if found == 0 then
    return 0, 0, 0
  end
  local left_ms, tier = block_state.read(bucket)
  if left_ms == 0 and named then
    left_ms, tier = block_state.read(named)
  end
  if left_ms ~= 0 then
    return left_ms, tier, 0
  end
  for i = 1, #others do
    left_ms, tier = block_state.read(others[i])
    if left_ms ~= 0 then
      return left_ms, tier, i
    end
  end
  return 0, 0, 0
end

-- Starts a tier's block, rounded up to a millisecond.
function block_state.start(key, tier, block_us)
  clock.store_for(key, names[tier] or 'tier', block_us)
end

return block_state
