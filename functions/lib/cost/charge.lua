--- Adds to an account, and writes what a call has changed in it.
--- @use clock
--- @lib charge
local charge = {}

-- Adds an amount to what counts in a window until a time; a negative one takes back.
function charge.add(self, sum, count, end_us, amount)
  sum.amount = sum.amount + amount
  sum.changed = true
  count.amount = count.amount + amount
  count.changed = true
  if not self.next_us or end_us < self.next_us then
    self.next_us = end_us
    self.moved = true
  end
  if not self.last_us or end_us > self.last_us then
    self.last_us = end_us
    self.moved = true
  end
end

-- Writes what a call has changed, unless nothing counts.
function charge.write(self)
  if not self.next_us then
    return
  end
  local args, last, counts = {'at', clock.text(self.now_us), nil, nil, nil, nil, nil, nil}, 2, self.counts
  local function put(name, number)
    args[last + 1] = name
    args[last + 2] = string.format('%d', number)
    last = last + 2
  end
  if not self.exists or self.now_us < self.began_us then
    put('began', self.now_us)
  end
  if self.moved or self.ends then
    put('next', self.next_us)
    put('last', self.last_us)
  end
  if self.punished_us then
    put('penalty', self.penalty_us)
    put('punished', self.punished_us)
  end
  if self.ends then
    for i = 1, #self.sums do
      put(self.sums[i], self.amounts[self.sums[i]])
    end
    for i = 1, #self.dropped do
      redis.call('HDEL', self.key, self.dropped[i])
    end
  end
  for i = 1, #counts do
    if counts[i].changed then
      put(counts[i].field, counts[i].amount)
    end
  end
  redis.call('HSET', self.key, unpack(args))
end

-- Lets the accounts that were written expire. It comes after all writes, so that a user who may not expire keys leaves no half of a call.
function charge.expire(all)
  for i = 1, #all do
    local one = all[i]
    if one.next_us then
      clock.expire(one.key, math.max(one.last_us, one.penalty_us) - one.now_us)
    end
  end
end

return charge
