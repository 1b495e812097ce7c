--- Charges that are made, changed and forgotten: all that is written about a subject's budgets.
---
--- A receipt is known for twice the longest window, so that a settlement is known for as long as its charge counts.
--- @use clock ledger charge_log refusal
--- @lib charging
--- @state holds 1 the numbers of charges by the time in microseconds when their hold ends
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

local nobody = {}

-- Takes the charges that are to be forgotten out of the state, before anything is written; or nil and a refusal.
local function forgotten(bucket, state)
  local horizon_us = state.now_us - 2 * state.longest_us
  if state.first == state.next or state.first_us > horizon_us then
    return nobody
  end
  local doomed = {}
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

-- Charges so much more to each window that holds the charge of that number, and starts a penalty, anew if one runs, where
-- a settlement has exceeded a budget or exceeds it further. Returns a refusal or nil.
local function add(state, number, time_us, more_micros, kind)
  local exceeded = false
  for i = 1, #state.windows do
    local row = state.windows[i]
    if row.head <= number then
      if more_micros > 9007199254740992 - row.spent_micros then
        return refusal.argument('amount must keep what is spent at most 9007199254740992 micros')
      end
      row.spent_micros = row.spent_micros + more_micros
      if row.head == number then
        row.head_us = time_us
      end
    end
    exceeded = exceeded or row.spent_micros > row.budget_micros
  end
  if exceeded and kind == 'settled' and more_micros > 0 and state.penalty_us > 0 then
    state.barred_us = math.max(state.barred_us, state.now_us + state.penalty_us)
  end
  return nil
end

-- Writes what the call has found to be over: holds that have ended, charges that are to be forgotten, and the receipt's
-- charge that has lapsed and is replaced, or nil.
local function sweep(bucket, holds, state, doomed, lapsed)
  if state.anew then
    -- Not by DEL: this tells a key of another type, before anything is written.
    redis.call('ZREMRANGEBYSCORE', holds, '-inf', '+inf')
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
    redis.call('HSET', bucket, lapsed.number, charge_log.format(lapsed.time_us, 0, 0, 'gone', ''))
    if lapsed.end_us > 0 then
      redis.call('ZREM', holds, lapsed.number)
    end
  end
end

-- Writes the state and one charge.
local function store(bucket, holds, state, number, text, receipt)
  state.newest_us = state.now_us
  redis.call('HSET', bucket, 'state', ledger.format(state), number, text, 'r:' .. receipt, number)
  local ttl_us = 2 * state.longest_us
  if state.barred_us - state.now_us > ttl_us then
    ttl_us = state.barred_us - state.now_us
  end
  ttl_us = ttl_us + state.now_us - state.clock_us
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
  local number, now_us = state.next, state.now_us
  state.next = number + 1
  if state.first == number then
    state.first_us = now_us
  end
  failure = add(state, number, now_us, amount_micros, kind)
  if failure then
    return failure
  end
  if end_us > 0 and (state.lapse_us == 0 or end_us < state.lapse_us) then
    state.lapse_us = end_us
  end
  sweep(bucket, holds, state, doomed, lapsed)
  if end_us > 0 then
    redis.call('ZADD', holds, end_us, number) -- rlfunc:ignore missing-ttl a hold sets lapse_us, and with it store the expiry
  end
  store(bucket, holds, state, number, charge_log.format(now_us, amount_micros, end_us, kind, receipt), receipt)
  return nil
end

-- Gives a charge another amount: what was spent (settled), or nothing (gone). Returns a refusal or nil.
function charging.change(bucket, holds, state, charge, kind, amount_micros)
  local doomed, failure = forgotten(bucket, state)
  if not doomed then
    return failure
  end
  failure = add(state, charge.number, charge.time_us, amount_micros - charge.amount_micros, kind)
  if failure then
    return failure
  end
  sweep(bucket, holds, state, doomed)
  if charge.end_us > 0 then
    redis.call('ZREM', holds, charge.number)
  end
  if kind == 'gone' then
    store(bucket, holds, state, charge.number, charge_log.format(charge.time_us, 0, 0, kind, ''), charge.receipt)
    redis.call('HDEL', bucket, 'r:' .. charge.receipt)
  else
    store(bucket, holds, state, charge.number, charge_log.format(charge.time_us, amount_micros, charge.end_us, kind, charge.receipt), charge.receipt)
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

return charging
