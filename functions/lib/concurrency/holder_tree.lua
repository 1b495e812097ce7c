--- The places of a set that are too many for one string: a sorted set, in which all scores are 0, so that members sort as text.
---
--- A holder's weight is split into powers of two, and the lease has a member for each: ZLEXCOUNT of at most ten ranges is the
--- number of places in use, however many leases have ended since. These members sort by power, then by the time they end.
--- @use holder_head
--- @lib holder_tree
--- @state holder_tree 1 '!<head>'; '<letter of the power><end><holder>' of each lease, ends as big-endian doubles, which sort by time; 'z<length of the holder><holder><end><fence><weight>' of each place
local holder_tree = {}

-- The letter of the leases of power 0; those of power 1 follow it in the alphabet.
local first_letter = 97

-- Calls remove at most this many ended leases of each power, and each adds at most one.
local most_swept = 2

-- More than there can be.
local all_swept = 10000000

local function lease(power, ends_us, holder)
  return struct.pack('>bd', first_letter + power, ends_us) .. holder
end

-- The end of the range of a power's leases.
local function stop_of(power)
  return '(' .. string.char(first_letter + power + 1)
end

-- When a lease ends, and its holder.
local function read_lease(text)
  if #text < 10 then
    return 0, ''
  end
  return struct.unpack('>d', text, 2), string.sub(text, 10)
end

local function name_of(holder)
  return 'z' .. struct.pack('>H', #holder) .. holder
end

-- The member that has a place's fence and weight.
local function record(place)
  return name_of(place.holder) .. struct.pack('>ddH', place.ends_us, place.fence, place.weight)
end

-- The members of a place: its record, and a lease for each power of two in its weight.
local function members(place)
  local all = {record(place)}
  for power = 0, 9 do
    if math.floor(place.weight / 2 ^ power) % 2 == 1 then
      all[#all + 1] = lease(power, place.ends_us, place.holder)
    end
  end
  return all
end

-- Returns whether a holder's place can be read, and the place, also if its lease has ended, or nil.
local function stored(set, holder)
  local name = name_of(holder)
  local found = redis.call('ZRANGEBYLEX', set.key, '[' .. name, '+', 'LIMIT', '0', '1')[1]
  if not found or string.sub(found, 1, #name) ~= name then
    return true
  end
  if #found ~= #name + 18 then
    return false
  end
  local ends_us, fence, weight = struct.unpack('>ddH', found, #name + 1)
  if not holder_head.whole(ends_us) or not holder_head.whole(fence) or weight < 1 or weight > 1000 then
    return false
  end
  return true, {holder = holder, ends_us = ends_us, fence = fence, weight = weight}
end

-- Counts the places in use, or without those whose leases end later than a time.
local function count(set, until_us)
  local sum = 0
  for power = 0, set.powers - 1 do
    local stop = stop_of(power)
    if until_us then
      stop = '(' .. lease(power, until_us + 1, '')
    end
    sum = sum + redis.call('ZLEXCOUNT', set.key, '[' .. lease(power, set.after_us + 1, ''), stop) * 2 ^ power
  end
  return sum
end

-- Returns whether the set can be read, and the holder's place or nil. Counts the places in use if a lease may have ended.
function holder_tree.find(set, holder)
  if set.until_us <= set.after_us then
    set.in_use = count(set)
  end
  local readable, place = stored(set, holder)
  if place and place.ends_us <= set.after_us then
    set.ended = place
    return true
  end
  return readable, place
end

-- The time by which this many places are free; nil if a lease cannot be read.
function holder_tree.free_us(set, wanted)
  if set.powers == 1 then
    local before = redis.call('ZLEXCOUNT', set.key, '-', '(' .. lease(0, set.after_us + 1, ''))
    local found = redis.call('ZRANGE', set.key, before + wanted - 1, before + wanted - 1)[1]
    local ends_us = found and read_lease(found)
    if ends_us and holder_head.whole(ends_us) then
      return ends_us
    end
    return nil
  end
  local low_us, high_us = set.after_us + 1, math.max(set.after_us + 1, set.expiry_us)
  for _ = 1, 53 do
    local middle_us = low_us + math.floor((high_us - low_us) / 2)
    if low_us < high_us and count(set, middle_us) >= wanted then
      high_us = middle_us
    elseif low_us < high_us then
      low_us = middle_us + 1
    end
  end
  return high_us
end

-- Removes ended leases of one power: all if the clock was set back. Returns when the first that is left ends, 0 if it has ended.
local function sweep(set, power)
  local most = most_swept
  if set.after_us > set.now_us then
    most = all_swept
  end
  local found = redis.call('ZRANGEBYLEX', set.key, '[' .. lease(power, 0, ''), stop_of(power), 'LIMIT', '0', most + 1)
  for i = 1, #found do
    local ends_us, holder = read_lease(found[i])
    if ends_us > set.after_us then
      return ends_us
    elseif i > most then
      return 0
    end
    redis.call('ZREM', set.key, found[i])
    local _, place = stored(set, holder)
    if place and place.ends_us == ends_us then
      redis.call('ZREM', set.key, record(place))
    end
  end
  return holder_head.forever_us
end

-- Adds a place.
local function add(set, place)
  while place.weight >= 2 ^ set.powers do
    set.powers = set.powers + 1
  end
  set.until_us = math.min(set.until_us, place.ends_us)
  local all = members(place)
  for i = 1, #all do
    redis.call('ZADD', set.key, '0', all[i])
  end
end

-- Replaces the stored head. The new one is added first: an empty set would lose its expiry.
local function store_head(set)
  local member = '!' .. holder_head.pack(set)
  if member ~= set.member then
    redis.call('ZADD', set.key, '0', member)
    redis.call('ZREM', set.key, set.member)
  end
end

-- Stores one place instead of another, either of which may be nil.
function holder_tree.store(set, place, instead_of)
  if set.until_us <= set.after_us then
    set.until_us = holder_head.forever_us
    for power = 0, set.powers - 1 do
      set.until_us = math.min(set.until_us, sweep(set, power))
    end
  end
  local former = instead_of or set.ended
  if former then
    local gone = members(former)
    for i = 1, #gone do
      redis.call('ZREM', set.key, gone[i])
    end
  end
  if place then
    add(set, place)
  end
  store_head(set)
end

-- Stores the places of a string, and one that made it too long.
function holder_tree.create(set, places, place)
  redis.call('DEL', set.key)
  for i = 1, #places do
    add(set, places[i])
  end
  add(set, place)
  store_head(set)
end

-- The places whose leases end first, at least that many of them if there are; nil if one cannot be read.
function holder_tree.list(set, most)
  local places, seen = {}, {}
  for power = 0, set.powers - 1 do
    local found = redis.call('ZRANGEBYLEX', set.key, '[' .. lease(power, set.after_us + 1, ''), stop_of(power), 'LIMIT', '0', most)
    for i = 1, #found do
      local _, holder = read_lease(found[i])
      if not seen[holder] then
        local _, place = stored(set, holder)
        if not place then
          return nil
        end
        seen[holder] = true
        places[#places + 1] = place
      end
    end
  end
  return places
end

return holder_tree
