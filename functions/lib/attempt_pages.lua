--- The older attempts of a subject that has many: pages of 12 times in a sorted set, by the newest time of each.
---
--- A count in a window is one command, however many there are, as pages have consecutive numbers. A page takes about 300 bytes.
--- @use clock packed_times refusal
--- @lib attempt_pages
--- @state attempt_pages 1 '<number of the page, 10 digits><12 times of 16 digits>' by the last of its times
local attempt_pages = {size = 12}

local function unreadable(key)
  return nil, refusal.state(key, 'holds no pages of attempts')
end

-- How many attempts are later than horizon_us, where the next page has that number; or nil and a refusal.
function attempt_pages.count_after(key, number, horizon_us)
  local first = redis.call('ZRANGEBYSCORE', key, string.format('(%.0f', horizon_us), '+inf', 'LIMIT', '0', '1')[1]
  if not first then
    return 0
  end
  local pages = number - (tonumber(string.sub(first, 1, 10)) or number)
  local count = packed_times.count_after(string.sub(first, 11), attempt_pages.size, horizon_us)
  if not count or not (pages > 0) then
    return unreadable(key)
  end
  return math.floor((pages - 1) * attempt_pages.size + count)
end

-- The times of the newest pages, as many as there are of `pages`, in one string; or nil and a refusal.
function attempt_pages.newest(key, pages)
  local found, times = redis.call('ZREVRANGE', key, 0, pages - 1), ''
  for i = 1, #found do
    if #found[i] ~= 10 + 16 * attempt_pages.size then
      return unreadable(key)
    end
    times = string.sub(found[i], 11) .. times
  end
  return times
end

-- Adds a page, for as long as its newest time may count. Returns how many there are: those before may have expired.
function attempt_pages.push(key, number, times, ttl_us)
  redis.call('ZADD', key, string.sub(times, -16), string.format('%010.0f', number) .. times)
  clock.expire(key, ttl_us)
  return redis.call('ZCARD', key)
end

-- Removes the oldest pages, two at most: a call adds one at most, and must not pay for all that a quiet time left.
function attempt_pages.trim(key, excess)
  local count = math.min(excess, 2)
  redis.call('ZREMRANGEBYRANK', key, 0, count - 1)
  return count
end

-- Removes all; Redis frees them beside.
function attempt_pages.clear(key)
  redis.call('UNLINK', key)
end

return attempt_pages
