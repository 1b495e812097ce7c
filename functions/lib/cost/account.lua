--- What a subject has spent of money, or of a unit: a hash, which a call reads and writes once.
---
--- Field '<window>:<end>' is the sum of what counts in a window until then, '<window>:sum' that of all its ends. The sums are right from `at`,
--- the time of the last write, until `next`, the earliest end. A call at another time reads the whole hash, drops what has ended, and what a
--- clock that has been set back since has stored further ahead than its window, and sums up the rest. `last` is the latest end, `began` the
--- earliest time of a write, `penalty` when a penalty ends that began at `punished`.
--- @use clock refusal
--- @lib account
--- @state account 5 began, at, next, last, penalty, punished: times in microseconds; '<window>:sum', '<window>:<end>': micros, or whole ones of a unit. A window is its length, or '<start>-<end>' of a period
local account = {}

local function unreadable(key)
  return refusal.state(key, 'holds no account, or an invalid amount or time')
end

-- Returns the name of the window, its length, and the end that a field is of; nil if it is no such field.
local function parts_of(field)
  local window, stop = string.match(field, '^([%d-]+):(%d+)$')
  local from, to = string.match(window or '', '^(%d+)-(%d+)$')
  return window, from and to - from or tonumber(window), tonumber(stop)
end

-- Reads all fields, and sums up those that count. Returns nil, or a refusal.
local function read_all(self)
  -- rlfunc:ignore key-loop a window has at most about 130 fields: 61 ends of charges, as many of estimates, and few of a clock set back
  local all, now_us, amounts = redis.call('HGETALL', self.key), self.now_us, {}
  self.amounts = amounts
  self.ends = {}
  self.sums = {}
  self.dropped = {}
  self.next_us = nil
  self.last_us = nil
  for i = 1, #all, 2 do
    local field, amount = all[i], clock.parse_us(all[i + 1])
    local window, length_us, end_us = parts_of(field)
    if not amount or window and not length_us then
      return unreadable(self.key)
    end
    if window and end_us > now_us and end_us <= now_us + 2 * length_us + math.floor(length_us / 60) then
      local sum = window .. ':sum'
      if not amounts[sum] then
        self.sums[#self.sums + 1] = sum
      end
      amounts[field] = amount
      amounts[sum] = (amounts[sum] or 0) + amount
      self.ends[#self.ends + 1] = {sum = sum, end_us = end_us, amount = amount}
      self.next_us = math.min(self.next_us or end_us, end_us)
      self.last_us = math.max(self.last_us or end_us, end_us)
    elseif window or string.find(field, ':sum$') then
      self.dropped[#self.dropped + 1] = field
    elseif field == 'punished' and self.penalty_us > now_us + 2 * (self.penalty_us - amount) then
      self.penalty_us = 0
      self.dropped[#self.dropped + 1] = 'penalty'
    end
  end
  for i = 1, #self.counts do
    local count = self.counts[i]
    count.amount = amounts[count.field] or 0
  end
  return nil
end

-- Reads the counts of an account, each a field with an amount, which is 0 until then. Returns nil, or a refusal.
function account.read(self)
  local names, counts, numbers = {'began', 'at', 'next', 'last', 'penalty', nil, nil, nil}, self.counts, {nil, nil, nil, nil, nil, nil, nil, nil}
  for i = 1, #counts do
    names[i + 5] = counts[i].field
  end
  local found = redis.call('HMGET', self.key, unpack(names))
  if not found[1] then
    return redis.call('EXISTS', self.key) == 1 and unreadable(self.key) or nil
  end
  for i = 1, #names do
    local text = found[i]
    local number = not text and 0 or clock.parse_us(text)
    if not number then
      return unreadable(self.key)
    end
    numbers[i] = number
  end
  self.exists = true
  self.began_us = numbers[1]
  self.next_us = numbers[3]
  self.last_us = numbers[4]
  self.penalty_us = numbers[5]
  if self.now_us >= numbers[2] and self.now_us < numbers[3] then
    for i = 1, #counts do
      counts[i].amount = numbers[i + 5]
    end
    return nil
  end
  return read_all(self)
end

-- Returns how long until at most that much is spent in the window of a sum; or nil and a refusal.
function account.wait_us(self, sum, most)
  local failure = not self.ends and read_all(self)
  if failure then
    return nil, failure
  end
  local spent = sum.amount
  table.sort(self.ends, function(one, other) return one.end_us < other.end_us end)
  for i = 1, #self.ends do
    local one = self.ends[i]
    if one.sum == sum.field then
      spent = spent - one.amount
      if spent <= most then
        return one.end_us - self.now_us
      end
    end
  end
  return nil, unreadable(self.key)
end

return account
