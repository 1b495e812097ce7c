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
--- until the clock is an hour past it and past the last lease, so fences also grow if the clock is set back.
--- @use clock refusal
--- @lib holder_set
--- @state holder_set 1 '<fence> <ends> <weight>' in the field of the holder; '' is '<last fence> <expiry> <powers> <last acquisition>'
--- @state leases 1 '<letter of the power><ends, 16 digits><holder>', all with the score 0
local holder_set = {}

-- How long the last fence is kept after its time and the last lease.
local keep_us = 3600000000

local format = '%016.0f %016.0f %.0f'

local most_listed = 100

-- The letter of the members of power 0; those of power 1 follow it in the alphabet.
local first_letter = 97

-- Reads a record: two times and a number from 1 to most; nil if it is not one.
local function parse(text, most)
  local fence, time_us = clock.parse_us(string.sub(text, 1, 16)), clock.parse_us(string.sub(text, 18, 33))
  local number = clock.parse_us(string.sub(text, 35))
  if not fence or not time_us or not number or number < 1 or number > most then
    return nil
  end
  return {fence = fence, time_us = time_us, number = number}
end

local function member(power, ends_us, holder)
  return string.char(first_letter + power) .. string.format('%016.0f', ends_us) .. holder
end

-- The members of a place, one for each power of two in its weight.
local function members(place)
  local all = {}
  for power = 0, 9 do
    if math.floor(place.weight / 2 ^ power) % 2 == 1 then
      all[#all + 1] = member(power, place.ends_us, place.holder)
    end
  end
  return all
end

-- Reads what a call of this holder needs, '' for none: a set, and the holder's place or nil. Leases that end after after_us
-- count. Or nil and a refusal.
function holder_set.open(bucket, leases, holder, now_us)
  local found = redis.call('HMGET', bucket, '', holder)
  local set = {bucket = bucket, leases = leases, now_us = now_us, after_us = now_us, fence = 0, expiry_us = 0, powers = 1}
  if found[1] then
    local text, acquired = string.match(found[1], '^(.+) (%d+)$')
    local last, acquired_us = text and parse(text, 10), acquired and clock.parse_us(acquired)
    if not last or not acquired_us then
      return nil, refusal.state(bucket, 'holds no last fence')
    end
    set.fence = last.fence
    set.expiry_us = last.time_us
    set.powers = last.number
    set.after_us = math.max(now_us, acquired_us)
  end
  if holder == '' or not found[2] then
    return set
  end
  local record = parse(found[2], 1000)
  if not record then
    return nil, refusal.state(bucket, 'holds a holder that cannot be read')
  end
  local place = {holder = holder, fence = record.fence, ends_us = record.time_us, weight = record.number}
  local first = members(place)[1]
  if first and place.ends_us > set.after_us and redis.call('ZSCORE', leases, first) then
    return set, place
  end
  set.ended = place
  return set
end

-- Places in use, or without those whose leases end later than a time.
function holder_set.in_use(set, until_us)
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

-- The time by which this many places are free, if no holder releases or renews; or nil and a refusal. They must be in use.
function holder_set.free_us(set, wanted)
  if set.powers == 1 then
    local ended = redis.call('ZLEXCOUNT', set.leases, '-', '(' .. member(0, set.after_us + 1, ''))
    local found = redis.call('ZRANGE', set.leases, ended + wanted - 1, ended + wanted - 1)[1]
    local ends_us = found and clock.parse_us(string.sub(found, 2, 17))
    if not ends_us then
      return nil, refusal.state(set.leases, 'holds a lease that cannot be read')
    end
    return ends_us
  end
  local low_us, high_us = set.after_us + 1, set.expiry_us
  for _ = 1, 53 do
    local middle_us = low_us + math.floor((high_us - low_us) / 2)
    if low_us < high_us and holder_set.in_use(set, middle_us) >= wanted then
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

-- Stores a place, and the last fence with it.
local function store(set, place, acquired_us)
  local now_us, expiry_us = set.now_us, math.max(set.expiry_us, math.max(place.ends_us, set.fence) + keep_us)
  local all = members(place)
  for i = 1, #all do
    redis.call('ZADD', set.leases, 0, all[i])
  end
  redis.call('HSET', set.bucket, '', string.format(format .. ' %.0f', set.fence, expiry_us, set.powers, acquired_us), place.holder, string.format(format, place.fence, place.ends_us, place.weight))
  clock.expire(set.bucket, expiry_us - now_us)
  clock.expire(set.leases, expiry_us - now_us)
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

-- Removes a place. Its key keeps its expiry.
function holder_set.remove(set, place)
  drop(set, place)
  redis.call('HDEL', set.bucket, place.holder)
end

-- Removes leases of one power that have ended: two at most, as a call adds one at most; all if the clock was set back.
local function sweep(set, power)
  if set.after_us > set.now_us then
    redis.call('ZREMRANGEBYLEX', set.leases, '[' .. member(power, 0, ''), '(' .. member(power, set.after_us + 1, ''))
  end
  local ended = redis.call('ZRANGEBYLEX', set.leases, '[' .. member(power, 0, ''), '(' .. member(power, set.now_us + 1, ''), 'LIMIT', '0', '2')
  for i = 1, #ended do
    local holder = string.sub(ended[i], 18)
    redis.call('ZREM', set.leases, ended[i])
    local text = redis.call('HGET', set.bucket, holder)
    if text and string.sub(text, 18, 33) == string.sub(ended[i], 2, 17) then
      redis.call('HDEL', set.bucket, holder)
    end
  end
end

-- Adds a holder that has no place. Returns its fence.
function holder_set.add(set, holder, weight, ends_us)
  if set.ended then
    drop(set, set.ended)
  end
  for power = 0, set.powers - 1 do
    sweep(set, power)
  end
  while weight >= 2 ^ set.powers do
    set.powers = set.powers + 1
  end
  set.fence = math.max(set.fence + 1, set.now_us)
  store(set, {holder = holder, fence = set.fence, ends_us = ends_us, weight = weight}, set.now_us)
  return set.fence
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
      local holder = string.sub(found[i], 18)
      if not seen[holder] then
        local text = redis.call('HGET', set.bucket, holder)
        local record = text and parse(text, 1000)
        if not record then
          return nil, refusal.state(set.bucket, 'holds a holder that cannot be read')
        end
        seen[holder] = true
        rows[#rows + 1] = {holder = holder, fence = record.fence, weight = record.number, expires_after_us = record.time_us - set.now_us}
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
