--- Charges that are made, changed and forgotten: all that is written about a subject's budgets.
---
--- A receipt is known for twice the longest window, so that a settlement is known for as long as its charge counts.
--- @use clock ledger charge_log spending refusal
--- @lib charging
local charging = {}

-- The receipt's charge, or nil. Its status is reserved, settled or lapsed: not settled, and counted in no window any more.
-- Or nil and a refusal.
function charging.find(bucket, state, number)
  if not number then
    return nil
  end
  local time_us, amount_micros, end_us, kind, receipt = charge_log.parse(redis.call('HGET', bucket, number))
  if not time_us or kind == 'gone' then
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
  return {number = number, time_us = time_us, amount_micros = amount_micros, end_us = end_us, status = status, receipt = receipt}
end

-- The charges that are to be forgotten, before anything is written; or nil and a refusal.
local function forgotten(bucket, state)
  local doomed = {}
  local horizon_us = state.now_us - 2 * state.longest_us
  if state.first == state.next or state.first_us > horizon_us then
    return doomed
  end
  local failure = charge_log.each(bucket, state, state.first, function(number, time_us, _, end_us, _, receipt)
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

local function overflows(state, amount_micros)
  for i = 1, #state.windows do
    if state.windows[i].spent_micros + amount_micros > 9007199254740992 then
      return true
    end
  end
  return false
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

-- Starts a penalty, anew if one runs, when a settlement has exceeded a budget or exceeds it further.
local function penalize(state, kind, more_micros)
  if kind == 'settled' and more_micros > 0 and state.penalty_us > 0 and charging.exceeded(state) then
    state.barred_us = math.max(state.barred_us, state.now_us + state.penalty_us)
  end
end

-- Writes the state and one charge; lapsed is the receipt's charge that it replaces, or nil.
local function store(bucket, holds, state, doomed, charge, lapsed)
  if state.anew then
    redis.call('DEL', bucket, holds)
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
    redis.call('HSET', bucket, lapsed.number, charge_log.format(lapsed.time_us, 0, 0, 'gone', ''))
    if lapsed.end_us > 0 then
      redis.call('ZREM', holds, lapsed.number)
    end
  end

  local receipt = 'r:' .. charge.receipt
  if charge.end_us > 0 then
    if charge.kind == 'open' then
      redis.call('ZADD', holds, charge.end_us, charge.number)
    else
      redis.call('ZREM', holds, charge.number)
    end
  end
  state.newest_us = state.now_us
  if charge.kind == 'gone' then
    redis.call('HDEL', bucket, receipt)
    redis.call('HSET', bucket, 'state', ledger.format(state), charge.number, charge_log.format(charge.time_us, 0, 0, 'gone', ''))
  else
    local text = charge_log.format(charge.time_us, charge.amount_micros, charge.end_us, charge.kind, charge.receipt)
    redis.call('HSET', bucket, 'state', ledger.format(state), charge.number, text, receipt, charge.number)
  end
  local ttl_us = math.max(2 * state.longest_us, state.barred_us - state.now_us) + state.now_us - state.clock_us
  clock.expire(bucket, ttl_us)
  if state.lapse_us > 0 then
    clock.expire(holds, ttl_us)
  end
end

-- Charges a receipt now, in place of its charge that has lapsed, if there is one. Returns a refusal or nil.
function charging.make(bucket, holds, state, lapsed, kind, amount_micros, end_us, receipt)
  local doomed, failure = forgotten(bucket, state)
  if not doomed then
    return failure
  end
  if overflows(state, amount_micros) then
    return refusal.argument('amount must keep what is spent at most 9007199254740992 micros')
  end
  local number = state.next
  state.next = number + 1
  if state.first == number then
    state.first_us = state.now_us
  end
  for i = 1, #state.windows do
    local row = state.windows[i]
    if row.head == number then
      row.head_us = state.now_us
    end
  end
  spending.add(state, number, amount_micros)
  penalize(state, kind, amount_micros)
  if end_us > 0 and (state.lapse_us == 0 or end_us < state.lapse_us) then
    state.lapse_us = end_us
  end
  store(bucket, holds, state, doomed, {
    number = number, time_us = state.now_us, amount_micros = amount_micros, end_us = end_us, kind = kind, receipt = receipt,
  }, lapsed)
  return nil
end

-- Gives a charge another amount: what was spent (settled), or nothing (gone). Returns a refusal or nil.
function charging.change(bucket, holds, state, charge, kind, amount_micros)
  local doomed, failure = forgotten(bucket, state)
  if not doomed then
    return failure
  end
  local more_micros = amount_micros - charge.amount_micros
  if overflows(state, more_micros) then
    return refusal.argument('actual must keep what is spent at most 9007199254740992 micros')
  end
  spending.add(state, charge.number, more_micros)
  penalize(state, kind, more_micros)
  store(bucket, holds, state, doomed, {
    number = charge.number, time_us = charge.time_us, amount_micros = amount_micros, end_us = charge.end_us, kind = kind,
    receipt = charge.receipt,
  })
  return nil
end

return charging
