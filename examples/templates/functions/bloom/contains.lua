--- Returns whether an item may have been added; writes nothing.
--- @use bloom_bits
--- @flags  no-writes
--- @key    bits        string[bits]         the bits
--- @arg    item        text[1024]           the item
--- @result known       bool                 false: never added. true: added, or by chance all its bits are set
local function contains(bits, item)
  local at, step = bloom_bits.hash(item)
  local set = 0
  for _ = 1, bloom_bits.hashes do
    set = set + redis.call('GETBIT', bits, at)
    at = (at + step) % bloom_bits.size
  end
  return set == bloom_bits.hashes
end
