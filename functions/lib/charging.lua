--- Charges that are made, changed and forgotten: all that is written about a subject's budgets.
---
--- A receipt is known for twice the longest window, so that a settlement is known for as long as its charge counts.
--- @use clock ledger charge_log refusal
--- @lib charging
--- @state holds 1 the numbers of charges by the time in microseconds when their hold ends
local charging = {}

-- The receipt's charge in that field, or nil. Its status is reserved, settled or lapsed: not settled, and counted in no window
-- any more. Or nil and a refusal.
function charging.find(bucket, state, field)
  if not field then
    return nil
  end
  local number = tonumber(field)
  local time_us, amount_micros, end_us, kind, receipt = charge_log.parse(redis.call('HGET', bucket, field))
  if not number or not (number >= state.first and number < state.next) or not time_us or kind == 'gone' then
    return nil, refusal.state(bucket, 'has a receipt without a charge')
  end
  if time_us <= state.now_us - 2 * state.longest_us then
    return nil
  end
  local status = 'settled'
  if kind == 'open' then
    status = 'reserved'
    if time_us <= state.now_us - state.longest_us or end_us > 0 and end_us <= state.now_us then
      status = 'lapsed'
      amount_micros = 0
    end
  end
  return {
    number = number, field = field, time_us = time_us, amount_micros = amount_micros, end_us = end_us, status = status, receipt = receipt,
  }
end

local nobody = {}

-- Takes the charges that are to be forgotten out of the state, before anything is written; or nil and a refusal.
local function forgotten(bucket, state)
  local horizon_us = state.now_us - 2 * state.longest_us
  if state.first == state.next or state.first_us > horizon_us then
    return nobody
  end
  local doomed = {}
  local failure = charge_log.each(bucket, state, state.first, 2, function(number, time_us, _, end_us, _, receipt)
    if time_us > horizon_us then
      state.first_us = time_us
      return true
    end
    state.first = number + 1
    doomed[#doomed + 1] = {number = number, end_us = end_us, receipt = receipt}
    return false
  end)
  if failure then
    return nil, failure
  end
  return doomed
end

-- Notes when the longest window will be empty, now that a charge inside costs another amount. What was not known stays so,
-- unless the charge is the only one that costs anything, or leaves last.
local function note_empty(state, row, time_us, old_micros, old_end_us, new_micros, new_end_us)
  if new_micros > 0 then
    local leaves_us, empty_us = charge_log.leaves_us(row, time_us, new_end_us), state.empty_us
    if row.spent_micros == old_micros or empty_us > 0 and leaves_us > empty_us or leaves_us == state.now_us + row.window_us then
      state.empty_us = leaves_us
    end
  elseif old_micros > 0 and state.empty_us == charge_log.leaves_us(row, time_us, old_end_us) then
    state.empty_us = 0
  end
end

-- Changes what a charge costs, and the end of its hold, in each window that it is inside of. Returns a refusal or nil.
local function change(state, number, time_us, old_micros, old_end_us, new_micros, new_end_us)
  local windows, longest_us, more_micros = state.windows, state.longest_us, new_micros - old_micros
  for i = 1, #windows do
    local row = windows[i]
    local head = row.head
    if head <= number then
      local spent_micros = row.spent_micros
      if more_micros > 9007199254740992 - spent_micros then
        return refusal.argument('amount must keep what is spent at most 9007199254740992 micros')
      end
      if row.window_us == longest_us then
        note_empty(state, row, time_us, old_micros, old_end_us, new_micros, new_end_us)
      end
      row.spent_micros = spent_micros + more_micros
      if head == number then
        row.head_us = time_us
      end
    end
  end
  return nil
end

-- Whether more than the budget of a window is spent.
function charging.exceeded(state)
  for i = 1, #state.windows do
    if state.windows[i].spent_micros > state.windows[i].budget_micros then
      return true
    end
  end
  return false
end

-- Starts a penalty, anew if one runs, where a settlement that costs more has exceeded a budget or exceeds it further.
local function punish(state, more_micros)
  if more_micros > 0 and state.penalty_us > 0 and charging.exceeded(state) then
    state.barred_us = math.max(state.barred_us, state.now_us + state.penalty_us)
  end
end

-- Writes what the call has found to be over: all that was there, or all holds; holds that have ended, charges that are to be
-- forgotten, and the receipt's charge that has lapsed and is replaced, or nil.
local function sweep(bucket, holds, state, first_hold, doomed, lapsed)
  if state.anew or first_hold then
    -- Not by DEL: this tells a key of another type, before anything is written.
    redis.call('ZREMRANGEBYSCORE', holds, '-inf', '+inf')
  end
  if state.anew then
    redis.call('DEL', bucket)
  end
  for i = 1, #state.lapses do
    redis.call('HSET', bucket, state.lapses[i].number, state.lapses[i].text)
  end
  if #state.lapses > 0 then
    redis.call('ZREMRANGEBYSCORE', holds, '-inf', state.now_us)
  end
  for i = 1, #doomed do
    redis.call('HDEL', bucket, doomed[i].number, 'r:' .. doomed[i].receipt)
    if doomed[i].end_us > 0 then
      redis.call('ZREM', holds, doomed[i].number)
    end
  end
  if lapsed then
    redis.call('HSET', bucket, lapsed.field, charge_log.format(lapsed.time_us, 0, 0, 'gone', ''))
    if lapsed.end_us > 0 then
      redis.call('ZREM', holds, lapsed.field)
    end
  end
end

-- Writes the state and one charge.
local function store(bucket, holds, state, field, text, receipt)
  redis.call('HSET', bucket, 'state', ledger.format(state), field, text, 'r:' .. receipt, field)
  local ttl_us = 2 * state.longest_us
  if state.barred_us - state.now_us > ttl_us then
    ttl_us = state.barred_us - state.now_us
  end
  ttl_us = ttl_us + state.now_us - state.clock_us
  local expire = clock.expire
  if ttl_us == 2 * state.longest_us then
    expire = clock.expire_after
  end
  expire(bucket, ttl_us)
  if state.lapse_us > 0 then
    expire(holds, ttl_us)
  end
end

-- Charges a receipt now, in place of its charge that has lapsed, if there is one. Returns a refusal or nil.
function charging.make(bucket, holds, state, lapsed, kind, amount_micros, end_us, receipt)
  local doomed, failure = forgotten(bucket, state)
  if not doomed then
    return failure
  end
  local number, field, now_us = state.next, state.next_field, state.now_us
  state.next = number + 1
  if state.first == number then
    state.first_us = now_us
  end
  failure = change(state, number, now_us, 0, 0, amount_micros, end_us)
  if failure then
    return failure
  end
  if kind == 'settled' then
    punish(state, amount_micros)
  end
  -- Without a hold that may end there is no number in holds, unless the bucket was lost.
  local first_hold = end_us > 0 and state.lapse_us == 0
  if first_hold or end_us > 0 and end_us < state.lapse_us then
    state.lapse_us = end_us
  end
  sweep(bucket, holds, state, first_hold, doomed, lapsed)
  if end_us > 0 then
    redis.call('ZADD', holds, end_us, field) -- rlfunc:ignore missing-ttl a hold sets lapse_us, and with it store the expiry
  end
  store(bucket, holds, state, field, charge_log.format(now_us, amount_micros, end_us, kind, receipt), receipt)
  return nil
end

-- Gives a charge another amount: what was spent (settled), or nothing (gone). Returns a refusal or nil.
function charging.change(bucket, holds, state, charge, kind, amount_micros)
  local doomed, failure = forgotten(bucket, state)
  if not doomed then
    return failure
  end
  failure = change(state, charge.number, charge.time_us, charge.amount_micros, charge.end_us, amount_micros, 0)
  if failure then
    return failure
  end
  punish(state, amount_micros - charge.amount_micros)
  sweep(bucket, holds, state, false, doomed)
  if charge.end_us > 0 then
    redis.call('ZREM', holds, charge.field)
  end
  if kind == 'gone' then
    store(bucket, holds, state, charge.field, charge_log.format(charge.time_us, 0, 0, kind, ''), charge.receipt)
    redis.call('HDEL', bucket, 'r:' .. charge.receipt)
  else
    store(bucket, holds, state, charge.field, charge_log.format(charge.time_us, amount_micros, charge.end_us, kind, charge.receipt), charge.receipt)
  end
  return nil
end

return charging
