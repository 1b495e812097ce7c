--- The holders of a subject and the leases on their places, in one key: a string, or a sorted set if there are many.
---
--- A lease that has ended stays ended: the time of the last change is kept, and if the clock is set back, no lease that had
--- ended by then counts again. Leases that had not ended last that much longer.
---
--- A fence is the clock in microseconds, or one more than the last fence, if that is greater. So fences grow after a failover
--- that lost some, as long as the new primary's clock is not behind by more than the failover took. The last fence is kept
--- for an hour after it and after the last lease, at least, so fences also grow if the clock is set back by less.
--- @use clock refusal holder_head holder_text holder_tree
--- @lib holder_set
local holder_set = {}

local most_listed = 100

-- How long the last fence is kept after its time and the last lease; the key's expiry is set once in as long, if no more is needed.
local keep_us = 3600000000

-- Reads what a call of this holder needs, '' for none: a set, with the places in use, and the holder's place or nil. Or nil and a
-- refusal.
local function open(key, holder, now_us)
  local text, member = redis.call('MGET', key)[1], '' -- MGET of a sorted set is false, GET an error
  if not text then
    member = redis.call('ZRANGE', key, '0', '0')[1]
    if not member then
      return {
        key = key, text = '', member = '', places = {}, now_us = now_us, after_us = now_us, fence = 0, changed_us = 0, expiry_us = 0,
        until_us = holder_head.forever_us, in_use = 0, powers = 1,
      }
    end
  end
  local head = text or string.sub(member, 2)
  if #head < holder_head.bytes then
    return nil, refusal.state(key, 'holds no holders')
  end
  local fence, changed_us, expiry_us, until_us, in_use, powers = struct.unpack('<dddddd', head)
  if not holder_head.valid(fence, changed_us, expiry_us, until_us, in_use, powers) then
    return nil, refusal.state(key, 'holds no holders')
  end
  local after_us = now_us
  if changed_us > now_us then
    after_us = changed_us
  end
  local set = {
    key = key, text = text, member = member, now_us = now_us, after_us = after_us, fence = fence, changed_us = changed_us,
    expiry_us = expiry_us, until_us = until_us, in_use = in_use, powers = powers,
  }
  local readable, place
  if text then
    readable, place = holder_text.find(set, holder)
  else
    readable, place = holder_tree.find(set, holder)
  end
  if not readable then
    return nil, refusal.state(key, 'holds a holder that cannot be read')
  end
  return set, place
end

-- The time by which this many places are free, if no holder releases or renews; or nil and a refusal. They must be in use.
local function free_us_of(set, wanted)
  local store = set.text and holder_text or holder_tree
  local free_us = store.free_us(set, wanted)
  if not free_us then
    return nil, refusal.state(set.key, 'holds a holder that cannot be read')
  end
  return free_us
end

-- Checks whether a holder gets its place. Returns allowed, the places that are free without the call, what the lease of its own place
-- has left, 0 without one, the wait, the set, and its own place or nil. Or nil and a refusal.
function holder_set.check(key, holder, weight, limit, now_us)
  local set, own = open(key, holder, now_us)
  if not set then
    return nil, own
  end
  local left = math.max(limit - set.in_use, 0)
  if own then
    return true, left, own.ends_us - now_us, 0, set, own
  end
  local above = set.in_use + weight - limit
  if above > 0 then
    local free_us, unreadable = free_us_of(set, above)
    if not free_us then
      return nil, unreadable
    end
    return false, left, 0, free_us - now_us, set
  elseif set.text and not holder_text.can_add(set, holder) then
    return nil, refusal.state(key, 'holds a holder that cannot be read')
  end
  return true, left, 0, 0, set
end

-- Stores one place instead of another, either of which may be nil.
local function store(set, place, instead_of)
  local last_us, left_us = 0, 0
  if place then
    last_us = place.ends_us
    if set.fence > last_us then
      last_us = set.fence
    end
  end
  if last_us + keep_us > set.expiry_us then
    left_us = last_us + 2 * keep_us - set.now_us
    set.expiry_us = set.now_us - set.now_us % 1000 + math.ceil(left_us / 1000) * 1000
  end
  if set.text then
    local text = holder_text.with(set, place, instead_of)
    if text and left_us > 0 then
      clock.store_for(set.key, text, left_us)
      return
    elseif text then
      redis.call('SET', set.key, text, 'KEEPTTL')
      return
    end
    local places = holder_text.list(set)
    if places and place then -- can_add has read them
      holder_tree.create(set, places, place)
    end
    left_us = set.expiry_us - set.now_us
  else
    holder_tree.store(set, place, instead_of)
  end
  if left_us > 0 then
    clock.expire(set.key, left_us)
  end
end

-- Lets a place's lease end no sooner than at a time.
local function extend(set, place, ends_us)
  if ends_us > place.ends_us then
    set.changed_us = set.after_us
    store(set, {holder = place.holder, fence = place.fence, ends_us = ends_us, weight = place.weight}, place)
    place.ends_us = ends_us
  end
end

-- Adds a holder that check allowed, or extends the lease of its own place. Returns its fence, and when its lease ends.
function holder_set.acquire(set, own, holder, weight, ends_us)
  if own then
    extend(set, own, ends_us)
    return own.fence, own.ends_us
  end
  local fence, now_us = set.fence + 1, set.now_us
  if fence < now_us then
    fence = now_us
  end
  set.fence = fence
  set.changed_us = now_us
  set.in_use = set.in_use + weight
  store(set, {holder = holder, fence = fence, ends_us = ends_us, weight = weight})
  return fence, ends_us
end

-- Returns what a caller with this fence, or any if 0, finds of a place or nil: held, not_held or superseded.
local function owner(place, fence)
  if not place or fence > place.fence then
    return 'not_held'
  elseif fence > 0 and fence < place.fence then
    return 'superseded'
  end
  return 'held'
end

-- Lets the lease of a holder's place with that fence, any if 0, end no sooner than lease_us from now. Returns renewed and what the
-- lease has left, or not_held or superseded and 0; or nil and a refusal.
function holder_set.renew(key, holder, fence, lease_us, now_us)
  local set, own = open(key, holder, now_us)
  if not set then
    return nil, own
  end
  local outcome = owner(own, fence)
  if outcome ~= 'held' then
    return outcome, 0
  end
  extend(set, own, now_us + lease_us)
  return 'renewed', own.ends_us - now_us
end

-- Removes a holder's place with that fence, any if 0; the key keeps its expiry. Returns released and the place's fence, or not_held or
-- superseded and 0; or nil and a refusal.
function holder_set.release(key, holder, fence, now_us)
  local set, own = open(key, holder, now_us)
  if not set then
    return nil, own
  end
  local outcome = owner(own, fence)
  if outcome ~= 'held' then
    return outcome, 0
  end
  set.changed_us = set.after_us
  set.in_use = set.in_use - own.weight
  store(set, nil, own)
  return 'released', own.fence
end

-- Returns the holders whose leases end first, at most 100, and the set; or nil and a refusal.
function holder_set.list(key, now_us)
  local set, unreadable = open(key, '', now_us)
  if not set then
    return nil, unreadable
  end
  local places
  if set.text then
    places = holder_text.list(set)
  else
    places = holder_tree.list(set, most_listed)
  end
  if not places then
    return nil, refusal.state(key, 'holds a holder that cannot be read')
  end
  holder_head.sort(places)
  local rows = {}
  for i = 1, math.min(#places, most_listed) do
    local place = places[i]
    rows[i] = {holder = place.holder, fence = place.fence, weight = place.weight, expires_after_us = place.ends_us - now_us}
  end
  return rows, set
end

return holder_set
