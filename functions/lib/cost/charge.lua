--- Adds to what is spent, takes back, and writes that.
--- @use clock spending
--- @lib charge
local charge = {}

-- Adds an amount that counts until a time to the sum; a negative one is taken back.
local function count(self, end_us, amount)
  if self.in_period then
    self.sum = self.sum + amount
  end
  if not self.next_us or end_us < self.next_us then
    self.next_us = end_us
    self.moved = true
  end
  if not self.last_us or end_us > self.last_us then
    self.last_us = end_us
    self.moved = true
  end
end

-- Adds to what counts until the estimate ends.
local function hold(self, amount)
  self.held = self.held + amount
  self.held_changed = true
  count(self, self.held_us, amount)
end

-- Charges the amount of the call as an estimate.
function charge.reserve(self)
  hold(self, self.amount)
  self.charged = true
  self.charged_micros = self.amount
  spending.show(self)
end

-- Takes an estimate of made_us back, if there was one, it still counts and the budget was not reset since; and adds what the call has cost,
-- unless the charge would have ended.
function charge.settle(self, estimate, made_us)
  if estimate and not self.ahead and self.held_us > self.now_us and self.began_us <= made_us and self.held > 0 then
    hold(self, -math.min(estimate, self.held))
  end
  if self.end_us > self.now_us and self.end_us == self.held_us then
    hold(self, self.amount)
  elseif self.end_us > self.now_us then
    self.rest = self.rest + self.amount
    self.rest_changed = true
    count(self, self.end_us, self.amount)
  end
  self.charged = true
  self.charged_micros = estimate and self.amount > 0 and estimate or self.amount
end

-- Starts a penalty if that much of the budget was not spent before, and it is exceeded now.
function charge.punish(self, length_us)
  if self.sum > self.row.budget_micros and self.sum > self.spent_micros and self.now_us + length_us > self.penalty_us then
    self.penalty_us = self.now_us + length_us
    self.penalised_us = length_us
    self.moved = true
  end
end

-- rlfunc:ignore library-state every call writes what it reads
local args = {}

local function put(count, field, text)
  args[count + 1] = field
  args[count + 2] = text
  return count + 2
end

-- Writes what a call has changed in a spending.
local function write(self)
  if not (self.held_changed or self.rest_changed) then
    return
  end
  local count, dropped = 0, self.dropped
  if self.moved then
    count = put(count, 'head', string.format('%d %d %d %d', math.min(self.began_us, self.now_us), self.now_us, self.next_us, self.last_us))
  end
  if self.penalised_us then
    count = put(count, 'penalty', string.format('%d %d', self.penalty_us, self.penalised_us))
  end
  if self.in_period then
    count = put(count, 'sum' .. self.period, string.format('%d', self.sum))
  end
  if self.held_changed then
    count = put(count, self.held_field, string.format('%d', self.held))
  end
  if self.rest_changed then
    count = put(count, self.field, string.format('%d', self.rest))
  end
  if dropped and #dropped > 0 then
    redis.call('HDEL', self.key, unpack(dropped))
  end
  redis.call('HSET', self.key, unpack(args, 1, count))
end

-- Writes what a call has changed. The expiries come last, so that a user who may not expire keys leaves no half of a call.
function charge.write(all)
  for i = 1, #all do
    write(all[i])
  end
  for i = 1, #all do
    local one = all[i]
    if one.moved and (one.held_changed or one.rest_changed) then
      clock.expire_at(one.key, math.max(one.last_us, one.penalty_us))
    end
  end
end

return charge
