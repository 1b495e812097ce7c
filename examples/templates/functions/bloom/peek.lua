--- Returns how full the filter is; writes nothing.
--- @use bloom_bits
--- @flags  no-writes
--- @key    bits        string[bits]         the bits
--- @result set         count[0..958506]     bits that are set: 496800 after 100,000 items
--- @result false_share float[0..1]          share of items that were never added and are reported as known: 0.01 after 100,000 items
local function peek(bits)
  local set = redis.call('BITCOUNT', bits)
  return set, math.min((set / bloom_bits.size) ^ bloom_bits.hashes, 1)
end
