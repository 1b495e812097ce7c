--- Older attempts of a subject that has many: pages of 12 times in a sorted set, scored by the newest time of each page.
---
--- Counting a window takes one command, however many pages there are, because their numbers are consecutive. A page takes about
--- 300 bytes.
--- @use clock packed_times refusal
--- @lib attempt_pages
--- @state attempt_pages 1 '<number of the page, 10 digits><12 times of 16 digits>' by the last of its times
local attempt_pages = {size = 12}

local function unreadable(key)
  return nil, refusal.state(key, 'holds no pages of attempts')
end

-- Returns the number of attempts later than horizon_us, where number is that of the next page; or nil and a refusal.
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

-- Returns the times of the newest pages, at most `pages` of them, in one string; or nil and a refusal.
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

-- Adds a page for as long as its newest time may count. Returns the number of pages; earlier ones may have expired.
function attempt_pages.push(key, number, times, ttl_us)
  redis.call('ZADD', key, string.sub(times, -16), string.format('%010.0f', number) .. times)
  clock.expire(key, ttl_us)
  return redis.call('ZCARD', key)
end

-- Removes the oldest pages, at most two: a call adds at most one page, and must not pay for all that expired meanwhile.
function attempt_pages.trim(key, excess)
  local count = math.min(excess, 2)
  redis.call('ZREMRANGEBYRANK', key, 0, count - 1)
  return count
end

-- Removes all pages without blocking Redis.
function attempt_pages.clear(key)
  redis.call('UNLINK', key)
end

return attempt_pages
