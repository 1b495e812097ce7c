--- What is spent of a budget: a hash, which a call reads and writes once.
---
--- A field that is a time has what counts until then, and `sum` what counts now. Those of a calendar's periods have the period behind:
--- 'sum 1767225600000000-1769904000000000'. `head` says from when until when the sums are right, which is the earliest of those times. A call
--- at another time reads the whole hash, and drops what has ended, and what a clock that has been set back since has stored further ahead
--- than a window.
--- @use budget clock spending_ends unit_amount
--- @lib spending
--- @state spending 1 'head': '<first write> <sums right from> <until> <latest end>'; 'penalty': '<end> <length>'; both in microseconds. 'sum<period>', '<end><period>': micros, or whole ones of a unit
local spending = {}

-- Reads what the call needs: the sum of its period, and what counts until its ends. Returns nothing, or a refusal.
local function read(self)
  local found = redis.call('HMGET', self.key, 'head', 'penalty', 'sum' .. self.period, self.held_field, self.field)
  if not found[1] then
    return redis.call('EXISTS', self.key) == 1 and spending_ends.unreadable(self) or nil
  end
  local began, from, to, last = string.match(found[1], '^(%d+) (%d+) (%d+) (%d+)$')
  local began_us, from_us, penalty_us, penalised_us = clock.parse_us(began), clock.parse_us(from), 0, 0
  local sum, held, rest = found[3] and clock.parse_us(found[3]), clock.parse_us(found[4] or 0), clock.parse_us(found[5] or 0)
  self.next_us = clock.parse_us(to)
  self.last_us = clock.parse_us(last)
  if found[2] then
    local stop, length = string.match(found[2], '^(%d+) (%d+)$')
    penalty_us = clock.parse_us(stop)
    penalised_us = clock.parse_us(length)
  end
  if not (began_us and from_us and self.next_us and self.last_us and penalty_us and penalised_us and held and rest) or sum == nil then
    return spending_ends.unreadable(self)
  end
  self.began_us = began_us
  if not clock.is_wrong(penalty_us - self.now_us, 2 * penalised_us) then
    self.penalty_us = penalty_us
  end
  if not sum or self.now_us < from_us or self.now_us >= self.next_us then
    return spending_ends.read(self)
  end
  self.sum = sum
  self.held = held
  self.rest = rest
end

-- Opens what is spent of the budget at a place, for a charge that was made at made_us and whose estimate counts until held_us at most. self is
-- a table that it fills. Returns whether it did: not if now is in none of the row's periods, and was made then; or nil and a refusal.
function spending.open(self, call, place, made_us, held_us)
  local row, now_us = call.budgets[place], call.now_us
  local ahead = made_us > now_us + row.length_us -- by a clock that has been set back since: the estimate does not count
  local period, end_us = budget.period(row, now_us)
  local charged_in = period
  if made_us ~= now_us and not ahead then
    charged_in, end_us = budget.period(row, made_us)
  elseif not period then
    return false
  end
  self.row = row
  self.key = call.keys[place]
  self.now_us = now_us
  self.period = period or ' none'
  self.in_period = charged_in == period
  self.ahead = ahead
  self.end_us = end_us or 0
  self.held_us = ahead and self.end_us or math.min(held_us, self.end_us)
  self.held_field = string.format('%d%s', self.held_us, charged_in or '')
  self.field = self.held_us == end_us and self.held_field or string.format('%d%s', self.end_us, charged_in or '')
  self.charged = false
  self.charged_micros = 0
  self.allowed = true
  self.retry_after_us = 0
  self.began_us = now_us
  self.next_us = nil
  self.last_us = nil
  self.penalty_us = 0
  self.penalised_us = nil
  self.sum = 0
  self.held = 0
  self.rest = 0
  self.ends = nil
  self.dropped = nil
  self.moved = false
  self.held_changed = false
  self.rest_changed = false
  local amount, unreserved = unit_amount.of(call, row.unit)
  self.amount = amount
  self.unreserved = unreserved
  local failure = read(self)
  if failure then
    return nil, failure
  end
  spending.show(self)
  return true
end

-- Fills in what the row's result is now.
function spending.show(self)
  self.spent_micros = self.sum
  self.remaining_micros = math.max(self.row.budget_micros - self.sum, 0)
end

return spending
