--- What counts of a spending until when: it is read where something has ended, or a call has to wait.
--- @use clock refusal
--- @lib spending_ends
local spending_ends = {}

function spending_ends.unreadable(self)
  return refusal.state(self.key, 'holds no spending, or an invalid amount or time')
end

-- Adds what counts until the end that a field names, or drops it if it has ended.
local function add_end(self, field, end_us, amount)
  local period = string.match(field, '^%d+(.*)$')
  local from, to = string.match(period, '^ (%d+)-(%d+)$')
  local length_us = from and to - from or self.row.length_us
  if end_us <= self.now_us or clock.is_wrong(end_us - self.now_us, 2 * length_us + math.floor(length_us / 60)) then
    self.dropped[#self.dropped + 1] = field
    return
  end
  self.next_us = math.min(self.next_us or end_us, end_us)
  self.last_us = math.max(self.last_us or end_us, end_us)
  if period == self.period then
    self.ends[#self.ends + 1] = {end_us = end_us, amount = amount}
    self.sum = self.sum + amount
  end
  if field == self.held_field then
    self.held = amount
  elseif field == self.field then
    self.rest = amount
  end
end

-- Reads the whole hash. Sums of periods are dropped: a call that misses its own reads everything. Returns nothing, or a refusal.
function spending_ends.read(self)
  -- rlfunc:ignore key-loop a window has at most about 130 ends: 61 of charges, as many of estimates, and few of a clock set back
  local all = redis.call('HGETALL', self.key)
  self.ends = {}
  self.moved = true
  self.dropped = {}
  self.next_us = nil
  self.last_us = nil
  self.sum = 0
  self.held = 0
  self.rest = 0
  for i = 1, #all, 2 do
    local field, end_us, amount = all[i], clock.parse_us(string.match(all[i], '^%d+')), clock.parse_us(all[i + 1])
    if end_us and amount then
      add_end(self, field, end_us, amount)
    elseif string.find(field, '^sum ') then
      self.dropped[#self.dropped + 1] = field
    elseif field ~= 'head' and field ~= 'penalty' and field ~= 'sum' then
      return spending_ends.unreadable(self)
    end
  end
end

-- Returns how long until at most that much is spent; or nil and a refusal.
function spending_ends.wait_us(self, most)
  local failure, spent = not self.ends and spending_ends.read(self) or nil, self.sum
  if failure then
    return nil, failure
  end
  table.sort(self.ends, function(one, other) return one.end_us < other.end_us end)
  for i = 1, #self.ends do
    spent = spent - self.ends[i].amount
    if spent <= most then
      return self.ends[i].end_us - self.now_us
    end
  end
  return nil, spending_ends.unreadable(self)
end

return spending_ends
