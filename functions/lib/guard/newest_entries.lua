--- The newest entries of a subject's keys, as rows of a result.
--- @use clock refusal charge_log charge_sums challenge_record challenge_set window_log_retention
--- @lib newest_entries
local newest_entries = {}

-- Longer than any entry is kept.
newest_entries.forever_us = 630720000000000

newest_entries.max_rows = 100

local max_rows = newest_entries.max_rows

-- Returns the newest of the 16-digit times in a string; nil if one is invalid.
function newest_entries.times(times)
  local rows, length = {}, math.floor(#times / 16)
  for place = math.max(1, length - max_rows + 1), length do
    local at_us = clock.parse_us(string.sub(times, place * 16 - 15, place * 16))
    if not at_us then
      return nil
    end
    rows[#rows + 1] = {at_us = at_us}
  end
  return rows
end

-- Returns the newest entries of each limit's log; or nil and a refusal.
function newest_entries.admissions(limits)
  local rows = {}
  for i = 1, #limits do
    local found = redis.call('LRANGE', limits[i].state, 0 - max_rows, '-1')
    local first = 1
    if found[1] and window_log_retention.parse(found[1]) then
      first = 2
    end
    for j = first, #found do
      local at_us = clock.parse_us(found[j])
      if not at_us then
        return nil, refusal.state(limits[i].state, 'holds an entry that is not a time')
      end
      rows[#rows + 1] = {limit = i, at_us = at_us}
    end
  end
  return rows
end

-- Returns when a charge leaves the last window or period that counts it.
local function counts_until_us(state, charge)
  local last_us = charge.time_us + (#state.windows == 0 and state.longest_us or 0)
  for i = 1, #state.windows do
    local row = state.windows[i]
    if not row.start_us or row.start_us <= charge.time_us then
      last_us = math.max(last_us, row.start_us and row.end_us or charge.time_us + row.window_us)
    end
  end
  return last_us
end

-- Returns the newest charges of a subject, except cancelled ones; or nil and a refusal.
function newest_entries.reservations(bucket, state)
  local rows, from = {}, math.max(state.first, state.next - max_rows)
  charge_sums.fetch(bucket, state, from, max_rows)
  for number = from, state.next - 1 do
    local charge = charge_sums.charge(state, number)
    if charge.kind ~= 'gone' then
      local until_us, state_name = counts_until_us(state, charge), 'settled'
      if charge.kind == 'open' then
        state_name = 'open'
        if charge.end_us > 0 then
          until_us = math.min(until_us, charge.end_us)
        end
        if until_us <= state.now_us then
          state_name = 'lapsed'
        end
      end
      rows[#rows + 1] = {id = charge.receipt, state = state_name, amount_micros = charge.amount_micros, at_us = charge.time_us, counts_until_us = until_us}
    end
  end
  if state.corrupt_fields > 0 then
    return nil, charge_log.refusal(bucket)
  end
  return rows
end

local function by_number(one, other)
  return one.number < other.number
end

-- Returns the newest challenges, in the order of their issue; or nil and a refusal.
function newest_entries.challenges(key, clock_us)
  local set, no_set = challenge_set.read(key, clock_us)
  if not set then
    return nil, no_set
  end
  local rows, newest = set.open, {}
  for i = 1, #rows do
    rows[i].state = 'unused'
    rows[i].payload = challenge_record.payload(rows[i].text)
  end
  for i = 1, #set.used do
    set.used[i].state = 'consumed'
    set.used[i].payload = ''
    rows[#rows + 1] = set.used[i]
  end
  table.sort(rows, by_number)
  for i = math.max(1, #rows - max_rows + 1), #rows do
    newest[#newest + 1] = rows[i]
  end
  return newest
end

return newest_entries
