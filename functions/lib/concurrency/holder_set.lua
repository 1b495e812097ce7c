--- The holders of a subject and the leases on their places.
---
--- A holder's weight is split into powers of two: the lease has a member for each, so that ZLEXCOUNT of at most ten ranges is
--- the number of places in use, however many leases have ended since. Members sort by power, then by the time they end.
---
--- A lease that has ended stays ended: the time of the last acquisition is kept, and if the clock is set back, no lease that had
--- ended by then counts again. Leases that had not ended last that much longer.
---
--- A fence is the clock in microseconds, or one more than the last fence, if that is greater. So fences grow after a failover
--- that lost some, as long as the new primary's clock is not behind by more than the failover took. The last fence is kept
--- for an hour after it and after the last lease, at least, so fences also grow if the clock is set back by less.
---
--- The places in use are stored too, and until when that number holds: no lease ends before. Then no ended lease is stored, and
--- nothing is counted. Where ended leases are left, that time is 0.
--- @use clock refusal
--- @lib holder_set
--- @state holder_set 1 '<end><fence><weight>' in the field of the holder; '' is '<last fence><last acquisition><expiry><until><powers><in use>': big-endian doubles
--- @state leases 1 '<letter of the power><end><holder>', all with the score 0; ends, as big-endian doubles, sort by time
local holder_set = {}

-- How long the last fence is kept after its time and the last lease; the keys' expiry is set once in as long, if no more is needed.
local keep_us = 3600000000

-- The number of places holds until then: no lease is left to end.
local forever_us = 9007199254740992

local most_listed = 100

-- The letter of the members of power 0; those of power 1 follow it in the alphabet.
local first_letter = 97

local function member(power, ends_us, holder)
  return struct.pack('>bd', first_letter + power, ends_us) .. holder
end

-- When the lease of a member ends; 0 if it is not one.
local function ends_of(text)
  if #text < 10 then
    return 0
  end
  local ends_us = struct.unpack('>d', text, 2)
  if ends_us >= 0 and ends_us <= 9007199254740992 and ends_us % 1 == 0 then
    return ends_us
  end
  return 0
end

-- The members of a place, one for each power of two in its weight.
local function members(place)
  if place.weight == 1 then
    return {member(0, place.ends_us, place.holder)}
  end
  local all = {}
  for power = 0, 9 do
    if math.floor(place.weight / 2 ^ power) % 2 == 1 then
      all[#all + 1] = member(power, place.ends_us, place.holder)
    end
  end
  return all
end

local function whole(number)
  return number >= 0 and number <= 9007199254740992 and number % 1 == 0
end

-- Reads a holder's record; nil if it is not one.
local function parse(holder, text)
  if #text ~= 24 then
    return nil
  end
  local ends_us, fence, weight = struct.unpack('>ddd', text)
  if not whole(ends_us) or not whole(fence) or not whole(weight) or weight < 1 or weight > 1000 then
    return nil
  end
  return {holder = holder, ends_us = ends_us, fence = fence, weight = weight}
end

-- Reads what a call of this holder needs, '' for none: a set, and the holder's place or nil. Leases that end after after_us
-- count. Or nil and a refusal.
function holder_set.open(bucket, leases, holder, now_us)
  local found = redis.call('HMGET', bucket, '', holder)
  local text, after_us = found[1], now_us
  local fence, acquired_us, expiry_us, until_us, powers, in_use = 0, 0, 0, 0, 1, 0
  if text then
    if #text ~= 48 then
      return nil, refusal.state(bucket, 'holds no last fence')
    end
    fence, acquired_us, expiry_us, until_us, powers, in_use = struct.unpack('>dddddd', text)
    if not whole(fence) or not whole(acquired_us) or not whole(expiry_us) or not whole(until_us) or not whole(powers) or not whole(in_use) or powers < 1 or powers > 10 then
      return nil, refusal.state(bucket, 'holds no last fence')
    end
    if acquired_us > now_us then
      after_us = acquired_us
    end
  end
  local set = {
    bucket = bucket,
    leases = leases,
    now_us = now_us,
    after_us = after_us,
    fence = fence,
    acquired_us = acquired_us,
    expiry_us = expiry_us,
    until_us = until_us,
    powers = powers,
    in_use = in_use,
    fresh = false,
  }
  if holder == '' or not found[2] then
    return set
  end
  local place = parse(holder, found[2])
  if not place then
    return nil, refusal.state(bucket, 'holds a holder that cannot be read')
  end
  local first = members(place)[1]
  if first and place.ends_us > set.after_us and redis.call('ZSCORE', leases, first) then
    return set, place
  end
  set.ended = place
  return set
end

-- Counts the places in use, or without those whose leases end later than a time.
local function count(set, until_us)
  local sum = 0
  for power = 0, set.powers - 1 do
    local stop = '(' .. string.char(first_letter + power + 1)
    if until_us then
      stop = '(' .. member(power, until_us + 1, '')
    end
    sum = sum + redis.call('ZLEXCOUNT', set.leases, '[' .. member(power, set.after_us + 1, ''), stop) * 2 ^ power
  end
  return sum
end

-- Places in use. The stored number is not relied on if it is more than a caller accepts.
function holder_set.in_use(set, most)
  if set.until_us <= set.after_us or set.in_use > most then
    set.in_use = count(set)
  end
  return set.in_use
end

-- The time by which this many places are free, if no holder releases or renews; or nil and a refusal. They must be in use.
function holder_set.free_us(set, wanted)
  if set.powers == 1 then
    local ended = 0
    if set.until_us <= set.after_us then
      ended = redis.call('ZLEXCOUNT', set.leases, '-', '(' .. member(0, set.after_us + 1, ''))
    end
    local found = redis.call('ZRANGE', set.leases, ended + wanted - 1, ended + wanted - 1)[1]
    local ends_us = found and ends_of(found) or 0
    if ends_us == 0 then
      return nil, refusal.state(set.leases, 'holds a lease that cannot be read')
    end
    return ends_us
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

-- Returns what a caller with this fence, or any if 0, finds of a place or nil: held, not_held or superseded.
function holder_set.owner(place, fence)
  if not place or fence > place.fence then
    return 'not_held'
  end
  if fence > 0 and fence < place.fence then
    return 'superseded'
  end
  return 'held'
end

local function drop(set, place)
  local all = members(place)
  for i = 1, #all do
    redis.call('ZREM', set.leases, all[i])
  end
end

-- Packs what is stored of the set itself.
local function head(set, acquired_us)
  return struct.pack('>dddddd', set.fence, acquired_us, set.expiry_us, set.until_us, set.powers, set.in_use)
end

-- Stores a place and the set. The leases get an expiry in any case: the server may have evicted them alone.
local function store(set, place, acquired_us)
  if place.weight == 1 then
    redis.call('ZADD', set.leases, '0', struct.pack('>bd', first_letter, place.ends_us) .. place.holder)
  else
    local all = members(place)
    for i = 1, #all do
      redis.call('ZADD', set.leases, '0', all[i])
    end
  end
  local needed_us = place.ends_us + keep_us
  if set.fence > place.ends_us then
    needed_us = set.fence + keep_us
  end
  local expires = set.fresh or needed_us > set.expiry_us
  if expires then
    set.expiry_us = math.max(set.expiry_us, math.ceil((needed_us + keep_us) / 1000) * 1000) -- both keys expire in this millisecond
  end
  redis.call('HSET', set.bucket, '', head(set, acquired_us), place.holder, struct.pack('>ddd', place.ends_us, place.fence, place.weight)) -- rlfunc:ignore missing-ttl set below, unless it was read with one
  if expires then
    clock.expire_after(set.bucket, set.expiry_us - set.now_us)
  end
  clock.expire_after(set.leases, set.expiry_us - set.now_us)
end

-- Ends a place's lease no sooner than at a time.
function holder_set.extend(set, place, ends_us)
  if ends_us > place.ends_us then
    local before = {holder = place.holder, ends_us = place.ends_us, weight = place.weight}
    place.ends_us = ends_us
    store(set, place, set.after_us)
    drop(set, before)
  end
end

-- Removes a place. Its keys keep their expiry.
function holder_set.remove(set, place)
  drop(set, place)
  redis.call('HDEL', set.bucket, place.holder)
  set.in_use = math.max(set.in_use - place.weight, 0)
  if set.until_us <= set.after_us then
    set.until_us = 0 -- the number would hold again if the clock is set back
  elseif set.in_use == 0 then
    set.until_us = forever_us
  end
  redis.call('HSET', set.bucket, '', head(set, set.acquired_us)) -- rlfunc:ignore missing-ttl the key keeps its expiry
end

-- Removes leases of one power that have ended: two at most, as a call adds one at most; all if the clock was set back. Returns
-- when the first that is left ends, 0 if it has ended.
local function sweep(set, power)
  local first, stop = '[' .. member(power, 0, ''), '(' .. string.char(first_letter + power + 1)
  if set.after_us > set.now_us then
    redis.call('ZREMRANGEBYLEX', set.leases, first, '(' .. member(power, set.after_us + 1, ''))
  end
  local found = redis.call('ZRANGEBYLEX', set.leases, first, stop, 'LIMIT', '0', '3')
  for i = 1, #found do
    local ends_us = ends_of(found[i])
    if ends_us > set.after_us then
      return ends_us
    elseif i == 3 then
      return 0
    end
    local holder = string.sub(found[i], 10)
    redis.call('ZREM', set.leases, found[i])
    local text = redis.call('HGET', set.bucket, holder)
    if text and string.sub(text, 1, 8) == string.sub(found[i], 2, 9) then
      redis.call('HDEL', set.bucket, holder)
    end
  end
  return forever_us
end

-- Removes leases that have ended.
local function settle(set)
  set.until_us = forever_us
  for power = 0, set.powers - 1 do
    set.until_us = math.min(set.until_us, sweep(set, power))
  end
end

-- Adds a holder that has no place. Returns its fence.
function holder_set.add(set, holder, weight, ends_us)
  if set.ended then
    drop(set, set.ended)
  end
  set.fresh = set.in_use == 0 or set.until_us <= set.after_us
  if set.until_us <= set.after_us then
    settle(set)
  end
  while weight >= 2 ^ set.powers do
    set.powers = set.powers + 1
  end
  local fence = set.fence + 1
  if fence < set.now_us then
    fence = set.now_us
  end
  set.fence = fence
  if ends_us < set.until_us then
    set.until_us = ends_us
  end
  set.in_use = set.in_use + weight
  store(set, {holder = holder, fence = fence, ends_us = ends_us, weight = weight}, set.now_us)
  return fence
end

local function by_end(one, other)
  if one.expires_after_us == other.expires_after_us then
    return one.holder < other.holder
  end
  return one.expires_after_us < other.expires_after_us
end

-- The holders whose leases end first, 100 at most; or nil and a refusal.
function holder_set.list(set)
  local rows, seen = {}, {}
  for power = 0, set.powers - 1 do
    local found = redis.call('ZRANGEBYLEX', set.leases, '[' .. member(power, set.after_us + 1, ''), '(' .. string.char(first_letter + power + 1), 'LIMIT', '0', most_listed)
    for i = 1, #found do
      local holder = string.sub(found[i], 10)
      if not seen[holder] then
        local text = redis.call('HGET', set.bucket, holder)
        local place = text and parse(holder, text)
        if not place then
          return nil, refusal.state(set.bucket, 'holds a holder that cannot be read')
        end
        seen[holder] = true
        rows[#rows + 1] = {holder = holder, fence = place.fence, weight = place.weight, expires_after_us = place.ends_us - set.now_us}
      end
    end
  end
  table.sort(rows, by_end)
  while #rows > most_listed do
    table.remove(rows)
  end
  return rows
end

return holder_set
