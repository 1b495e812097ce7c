--- Creates, updates and forgets charges: every write to a subject's budgets.
---
--- A receipt is known for twice the longest window, so a settlement is known for as long as its charge counts. Each write forgets
--- at most one page of eight older charges; eight writes add one.
--- @use clock ledger charge_log charge_sums spent_windows refusal
--- @lib charge_store
local charge_store = {}

-- Returns the receipt's charge in that field, or nil. Its status is reserved, settled, lapsed (not settled, and no longer counted
-- in any window) or unknown (forgotten). Or nil and a refusal.
local function find(bucket, state, field)
  if not field then
    return nil
  end
  local number, charge = tonumber(field), nil
  if number and number >= state.first and number < state.next then
    charge = charge_log.parse(redis.call('HGET', bucket, field) or '')
  end
  if not number or not charge or charge.kind == 'gone' then
    return nil, refusal.state(bucket, 'has a receipt without a charge')
  end
  charge.number = number
  charge.field = field
  charge.charged_micros = charge.amount_micros
  charge.status = 'settled'
  if charge.time_us <= math.max(state.now_us - 2 * state.longest_us, state.kept_us) then
    charge.status = 'unknown'
    charge.charged_micros = 0
  elseif charge.kind == 'open' then
    charge.status = 'reserved'
    if charge.time_us <= state.now_us - state.longest_us or charge.end_us > 0 and charge.end_us <= state.now_us then
      charge.status = 'lapsed'
      charge.charged_micros = 0
    end
  end
  return charge
end

-- Returns the state as of now; the receipt's charge, as find does, or nil; and a table that begins with the limits' windows, in the
-- order of the limits. Or nil and a refusal. Writes nothing.
function charge_store.open(bucket, receipt, limits, clock_us)
  local state, field, windows = spent_windows.open(bucket, receipt, limits, clock_us)
  if not state then
    return nil, field
  end
  local charge, unreadable = find(bucket, state, field)
  if unreadable then
    return nil, unreadable
  end
  return state, charge, windows
end

-- Returns when a charge leaves a window or period: at the end of its hold, if end_us is above 0 and earlier.
function charge_store.leaves_us(row, time_us, end_us)
  local leaves_us = row.start_us and row.end_us or time_us + row.window_us
  if end_us > 0 and end_us < leaves_us then
    return end_us
  end
  return leaves_us
end

-- Updates when the longest window will be empty, after the cost of a charge changed. An unknown time stays unknown, unless this
-- charge is the only one that costs anything, or leaves last.
local function note_empty(state, row, time_us, old_micros, old_end_us, new_micros, new_end_us)
  if new_micros > 0 then
    local leaves_us, empty_us = charge_store.leaves_us(row, time_us, new_end_us), state.empty_us
    if row.spent_micros == old_micros or empty_us > 0 and leaves_us > empty_us or leaves_us == state.now_us + row.window_us then
      state.empty_us = leaves_us
    end
  elseif old_micros > 0 and state.empty_us == charge_store.leaves_us(row, time_us, old_end_us) then
    state.empty_us = 0
  end
end

-- Applies a changed amount and hold of a charge to each window that contains it. Returns a refusal or nil.
local function apply(state, number, time_us, old_micros, old_end_us, new_micros, new_end_us)
  local windows, longest_us, more_micros = state.windows, state.longest_us, new_micros - old_micros
  if more_micros > 9007199254740991 - state.stored_micros then
    return refusal.argument('amount must keep what the subject has spent at most 9007199254740991 micros')
  end
  state.stored_micros = state.stored_micros + more_micros
  for i = 1, #windows do
    local row = windows[i]
    local head = row.head
    if head <= number then
      if row.window_us == longest_us and not row.start_us then
        note_empty(state, row, time_us, old_micros, old_end_us, new_micros, new_end_us)
      end
      row.spent_micros = row.spent_micros + more_micros
      if row.spent_micros < 0 then
        state.corrupt_fields = state.corrupt_fields + 1
      end
      if head == number then
        row.head_us = time_us
      end
    end
  end
  return nil
end

-- Returns whether any window exceeds its budget.
function charge_store.exceeded(state)
  for i = 1, #state.windows do
    if state.windows[i].spent_micros > state.windows[i].budget_micros then
      return true
    end
  end
  return false
end

-- Starts or restarts a penalty, if a settlement that costs more exceeds a budget.
local function start_penalty(state, more_micros)
  if more_micros > 0 and state.penalty_us > 0 and charge_store.exceeded(state) then
    state.penalty_end_us = math.max(state.penalty_end_us, state.now_us + state.penalty_us)
  end
end

-- Notes for store the fields to write, with their values, and those to delete: of the oldest page, if it is due and may_forget. Returns a
-- refusal or nil.
local function prepared(bucket, state, written, may_forget)
  state.written = written
  if may_forget and state.due_us > 0 and state.due_us <= state.kept_us then
    state.to_delete = charge_sums.forget(bucket, state)
  end
  if state.corrupt_fields > 0 then
    return charge_log.refusal(bucket)
  end
  return nil
end

-- Writes what create or update has prepared. Several accounts are prepared before one is written, so a refusal of one leaves all unchanged.
-- The expiry is set for an eighth longer than needed, and only if it is not late enough, which is seldom.
function charge_store.store(bucket, state)
  if state.restarted then
    redis.call('DEL', bucket)
  end
  if state.to_delete then
    redis.call('HDEL', bucket, unpack(state.to_delete))
  end
  local kept_us = 2 * state.longest_us
  if state.dropped_us > 0 and #state.windows > 0 then
    kept_us = math.max(2 * ledger.longest_us(state.windows, 0), state.dropped_end_us - state.now_us)
  elseif state.dropped_us > 0 then
    state.dropped_end_us = state.now_us + kept_us
  end
  local ttl_us, until_us = 0, state.now_us + kept_us
  if state.penalty_end_us > until_us then
    until_us = state.penalty_end_us
  end
  if until_us > state.expiry_us then
    ttl_us = until_us - state.clock_us + math.ceil(kept_us / 8)
    state.expiry_us = state.clock_us + ttl_us
  end
  redis.call('HSET', bucket, 'state', ledger.format(state), unpack(state.written))
  if ttl_us > 0 then
    clock.expire_after(bucket, ttl_us)
  end
end

-- Returns the lane of an open charge with that hold, and the hold that it counts for. Eight holds at a time are exact; a further
-- one counts as the next longer of those, or as no hold.
local function lane_for(state, hold_us)
  local free, longer
  for i = 2, #state.lanes do
    local lane = state.lanes[i]
    if lane.total_micros ~= lane.base_micros then
      if lane.hold_us == hold_us then
        return i, hold_us
      elseif lane.hold_us > hold_us and (not longer or lane.hold_us < state.lanes[longer].hold_us) then
        longer = i
      end
    elseif not free or lane.hold_us == hold_us then
      free = i
    end
  end
  if free or #state.lanes < 9 then
    return free or #state.lanes + 1, hold_us
  elseif longer then
    return longer, state.lanes[longer].hold_us
  end
  return 1, 0
end

-- Adds a new charge to its lane, and starts the lane if it is unused.
local function add_to_lane(state, number, hold_us, amount_micros)
  local place, counted_us = 1, hold_us
  if hold_us > 0 and amount_micros > 0 then
    place, counted_us = lane_for(state, hold_us)
  end
  if place > #state.lanes then
    state.lanes[place] = ledger.lane(0, 0, 0, 0, 0)
  end
  local lane = state.lanes[place]
  if place > 1 and lane.total_micros == lane.base_micros then
    lane.hold_us = counted_us
    lane.head = number
    lane.head_us = state.now_us
  end
  lane.total_micros = charge_sums.add(lane.total_micros, amount_micros)
  return place, counted_us
end

-- Moves a charge from its lane to lane 1, with another amount.
local function move(bucket, state, charge, amount_micros, written)
  local lane = state.lanes[math.min(charge.lane, #state.lanes)]
  charge_sums.amend(bucket, state, charge, amount_micros, written)
  lane.total_micros = charge_sums.subtract(lane.total_micros, charge.amount_micros)
  lane = state.lanes[1]
  lane.total_micros = charge_sums.add(lane.total_micros, amount_micros)
end

-- Rewrites a charge with another lane, amount, kind and receipt.
local function rewrite(state, charge, lane, amount_micros, kind, receipt, written)
  local text = charge_log.format(charge.time_us, amount_micros, lane, 0, kind, receipt)
  state.read[charge.field] = text
  state.read[-charge.number] = nil
  written[#written + 1] = charge.field
  written[#written + 1] = text
end

-- Removes the receipt from its charge that no longer counts. If only the current windows have dropped it, its amount becomes 0,
-- because a longer window would count it again.
local function release_receipt(bucket, state, old, written)
  if old.status == 'lapsed' and (old.end_us == 0 or old.end_us > state.now_us) then
    move(bucket, state, old, 0, written)
    state.stored_micros = state.stored_micros - old.amount_micros
    rewrite(state, old, 1, 0, 'gone', '', written)
  else
    rewrite(state, old, old.lane, old.amount_micros, 'gone', '', written)
  end
end

-- Charges a receipt now, in place of its lapsed or forgotten charge, if any, once store is called. A hold of 0 means no hold. Returns nil and
-- the end of the hold, 0 without one; or a refusal.
function charge_store.create(bucket, state, old, kind, amount_micros, hold_us, receipt)
  local number, now_us, end_us = state.next, state.now_us, 0
  local field = string.format('%d', number)
  local written = {field, '', 'r:' .. receipt, field}
  if old then
    release_receipt(bucket, state, old, written)
  end
  local lane, counted_us = add_to_lane(state, number, hold_us, amount_micros)
  if counted_us > 0 then
    end_us = now_us + counted_us
  end
  local failure = apply(state, number, now_us, 0, 0, amount_micros, end_us)
  if failure then
    return failure
  end
  if kind == 'settled' then
    start_penalty(state, amount_micros)
  end
  written[2] = charge_log.format(now_us, amount_micros, lane, end_us, kind, receipt)
  if number % 8 == 0 then
    charge_sums.complete(bucket, state, number, written)
    if number == state.first + 7 then
      state.due_us = now_us
    end
  end
  state.next = number + 1
  return prepared(bucket, state, written, number % 8 > 0 and (not old or old.number >= state.first + 8)), end_us
end

-- Updates a reserved charge once store is called: to the actual cost (settled), or to nothing (gone). Returns a refusal or nil.
function charge_store.update(bucket, state, charge, kind, amount_micros)
  local failure = apply(state, charge.number, charge.time_us, charge.amount_micros, charge.end_us, amount_micros, 0)
  if failure then
    return failure
  end
  local written = {}
  move(bucket, state, charge, amount_micros, written)
  start_penalty(state, amount_micros - charge.amount_micros)
  rewrite(state, charge, 1, amount_micros, kind, kind == 'gone' and '' or charge.receipt, written)
  failure = prepared(bucket, state, written, true)
  if kind == 'gone' then
    state.to_delete = state.to_delete or {}
    state.to_delete[#state.to_delete + 1] = 'r:' .. charge.receipt
  end
  return failure
end

return charge_store
