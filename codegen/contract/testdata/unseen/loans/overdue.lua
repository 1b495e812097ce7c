--- Lists readers whose copies are late, the latest first, with what they owe; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the book
--- @key    loans          zset[loans] forever        readers by the time when they bring their copy back
--- @arg    grace          duration[0us..3d]=1d       what does not count as late
--- @arg    per_day        micros[0..10000000]        what each day costs that has begun
--- @arg    most           count[1..50]=20            most readers to list
--- @result readers        group[0..50]               who is late
--- @result readers.reader text[64]                   the reader
--- @result readers.late   duration                   by how much
--- @result readers.owed   micros[0..1000000000]      what the reader owes, for a hundred days at most
local function overdue(loans, grace_us, per_day_micros, most)
  local now_us = clock.now_us()
  local day_us = 86400000000
  local before = string.format('(%.0f', now_us - grace_us)
  local found = redis.call('ZRANGEBYSCORE', loans, before, '-inf', 'WITHSCORES', 'LIMIT', 0, most)
  local rows = {}
  for i = 1, #found, 2 do
    local due_us = tonumber(found[i + 1]) or now_us
    local late_us = math.max(now_us - due_us, 0)
    local days = math.min(math.ceil(late_us / day_us), 100)
    rows[#rows + 1] = {reader = found[i], late_us = late_us, owed_micros = days * per_day_micros}
  end
  return rows
end
