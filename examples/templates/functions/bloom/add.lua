--- Adds an item, and returns whether it is new for certain.
--- @use clock bloom_bits
--- @key    bits        string[bits]         the bits
--- @arg    item        text[1024]           the item
--- @arg    keep        duration[1s..366d]   how long the filter lasts from its first item on
--- @result new         bool                 true: never added before. false: added before, or by chance all its bits were set
local function add(bits, item, keep_us)
  local at, step = bloom_bits.hash(item)
  local before = 0
  for _ = 1, bloom_bits.hashes do
    before = before + redis.call('SETBIT', bits, at, 1)
    at = (at + step) % bloom_bits.size
  end
  local left_ms = clock.left_ms(bits)
  if left_ms < 0 or left_ms > 63244800000 then -- 732 days, twice the longest keep: a wrong clock set the end
    clock.expire(bits, keep_us)
  end
  return before < bloom_bits.hashes
end
