--- The bits of a Bloom filter: 958,506 of them (117 KiB), of which each item has 7, found by double hashing of its SHA-1.
---
--- With 100,000 items, 1 of 100 items that were never added is reported as known: (1 - e^(-7 * 100000 / 958506))^7 = 0.010. For n
--- items and a share p take n * 2.0814 * ln(1 / p) bits and log2(1 / p) hashes, and raise the number of the state.
--- @lib bloom_bits
--- @state bloom_bits 1 bits at (a + i * b) % 958506, a and b being 8 hexadecimal digits of the SHA-1 each
local bloom_bits = {size = 958506, hashes = 7}

-- Returns where an item's hashes begin, and their step.
function bloom_bits.hash(item)
  local hex = redis.sha1hex(item)
  local first = tonumber(string.sub(hex, 1, 8), 16) or 0
  local step = tonumber(string.sub(hex, 9, 16), 16) or 0
  return first % bloom_bits.size, 1 + step % (bloom_bits.size - 1)
end

return bloom_bits
