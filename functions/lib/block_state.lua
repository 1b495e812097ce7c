--- A block: it holds for as long as its key has left, and nothing else tells when it ends.
---
--- The value says who started it: 'tier 2', 'manual', or 'manual <reason>'.
--- @use clock refusal
--- @lib block_state
--- @state block_state 1 who started the block: 'tier 2', 'manual' or 'manual <reason>'; the key expires with it
local block_state = {}

-- How many milliseconds a block holds on, 0 without one; the tier that started it, 0 for a person; and that person's
-- reason. Or nil and a refusal. A key is still there in the millisecond in which it ends: then it holds no more.
function block_state.read(key)
  local left_ms = clock.left_ms(key)
  if left_ms == -2 then
    return 0, 0, ''
  end
  local text = redis.call('GET', key) or ''
  local tier = tonumber(string.match(text, '^tier ([1-8])$')) or 0
  local reason = string.match(text, '^manual ?(.*)$') or ''
  if left_ms < 0 or tier == 0 and not string.find(text, '^manual') then
    return nil, refusal.state(key, 'holds no block that ends')
  end
  if left_ms == 0 then
    return 0, 0, ''
  end
  return left_ms, tier, reason
end

return block_state
