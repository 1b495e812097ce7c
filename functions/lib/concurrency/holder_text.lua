--- The places of a set while they are few: one string, the head and then the places.
---
--- All are read only if a lease may have ended or the holder's name occurs in the string.
--- @use holder_head
--- @lib holder_text
--- @state holder_text 1 the head, then '<length of the holder><end><fence><weight><holder>' of each place: little-endian 16 bits, two doubles and 16 bits
local holder_text = {}

-- A longer string becomes a sorted set.
local most_bytes = 1024

-- The bytes of a place before the holder's name.
local place_bytes = 20

-- Returns the places whose leases have not ended, how many places they take, and when the first ends; nil if they cannot be read.
local function read_all(set)
  local text, from = set.text, holder_head.bytes + 1
  local places, in_use, until_us = {}, 0, holder_head.forever_us
  while from + place_bytes <= #text do
    local length, ends_us, fence, weight = struct.unpack('<HddH', text, from)
    local next_from = from + place_bytes + length
    if length < 1 or next_from > #text + 1 or weight < 1 or weight > 1000 or not holder_head.whole(ends_us) or not holder_head.whole(fence) then
      return nil, 0, 0
    end
    if ends_us > set.after_us then
      places[#places + 1] = {holder = string.sub(text, from + place_bytes, next_from - 1), ends_us = ends_us, fence = fence, weight = weight}
      in_use = in_use + weight
      until_us = math.min(until_us, ends_us)
    end
    from = next_from
  end
  if from ~= #text + 1 then
    return nil, 0, 0
  end
  return places, in_use, until_us
end

-- Returns whether the set can be read, and the holder's place or nil.
function holder_text.find(set, holder)
  if set.until_us > set.after_us and not string.find(set.text, holder, holder_head.bytes + 1, true) then
    return true
  end
  local places, in_use, until_us = read_all(set)
  if not places then
    return false
  end
  set.places = places
  set.in_use = in_use
  set.until_us = until_us
  for i = 1, #places do
    if places[i].holder == holder then
      return true, places[i]
    end
  end
  return true
end

-- All places, in any order.
function holder_text.list(set)
  return set.places or (read_all(set))
end

-- The time by which this many places are free; nil if they cannot be read.
function holder_text.free_us(set, wanted)
  if wanted == 1 then
    return set.until_us
  end
  local places = holder_text.list(set)
  if not places then
    return nil
  end
  holder_head.sort(places)
  for i = 1, #places do
    wanted = wanted - places[i].weight
    if wanted <= 0 then
      return places[i].ends_us
    end
  end
  return nil
end

-- Returns whether a holder can be added. If the string becomes too long, its places move to a sorted set, so they must be readable.
function holder_text.can_add(set, holder)
  return #set.text + place_bytes + #holder <= most_bytes or holder_text.list(set) ~= nil
end

local function packed(place)
  return struct.pack('<HddH', #place.holder, place.ends_us, place.fence, place.weight) .. place.holder
end

-- Returns the set's text with one place instead of another, either of which may be nil; or nil if it would be too long.
function holder_text.with(set, place, instead_of)
  local text, places = set.text, set.places
  if place and (not places or text == '') then -- most acquisitions: each text that Lua makes costs as much as ten operations
    if #text + place_bytes + #place.holder > most_bytes then
      return nil
    end
    set.until_us = math.min(set.until_us, place.ends_us)
    return holder_head.pack(set) .. string.sub(text, holder_head.bytes + 1)
      .. struct.pack('<HddH', #place.holder, place.ends_us, place.fence, place.weight) .. place.holder
  end
  local all = {''}
  set.until_us = holder_head.forever_us
  for i = 1, #places do -- they are known where one changes
    local kept = places[i]
    if kept ~= instead_of then
      all[#all + 1] = packed(kept)
      set.until_us = math.min(set.until_us, kept.ends_us)
    end
  end
  if place then
    all[#all + 1] = packed(place)
    set.until_us = math.min(set.until_us, place.ends_us)
  end
  text = table.concat(all)
  if #text + holder_head.bytes > most_bytes then
    return nil
  end
  return holder_head.pack(set) .. text
end

return holder_text
