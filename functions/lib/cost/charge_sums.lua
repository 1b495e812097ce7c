--- Sums over a subject's charges, so that no call reads them one by one.
---
--- Eight charges form a page. Field 's<k>' holds the sums of page k and of as many pages before it as the lowest bit of k says (a
--- Fenwick tree): s1 of page 1, s2 of 1 and 2, s3 of 3, s4 of 1 to 4. It is written when page k is full. A lane is a group of
--- charges that are summed together: lane 1 those that are settled or have no hold, each further one the open charges of one
--- hold. Sums from the first charge on are modulo 2^53; the sum of all stored charges is less, so a difference is exact.
---
--- Positions are numbers of charges, and steps are powers of two. From position x, a multiple of two steps, step s covers the
--- charges x + 1 to x + s. Fields that were read are cached in the state's read, and parsed charges at their negated numbers
--- (gopher-lua allocates a table up to its greatest number). A missing or invalid field counts as zero and increments corrupt_fields; callers
--- check that before they answer or write.
--- @use charge_log
--- @lib charge_sums
--- @state charge_sums 2 the last charge's time and the sum of each lane, as little-endian doubles, in field 's<number of the page>'
local charge_sums = {}

local modulus = 9007199254740992

function charge_sums.add(a, b)
  if a >= modulus - b then
    return a - (modulus - b)
  end
  return a + b
end

function charge_sums.subtract(a, b)
  if a >= b then
    return a - b
  end
  return modulus - (b - a)
end

-- Returns the field of a charge, or of the sums up to a full page's last charge.
local function field_of(position, step)
  if step < 8 then
    return string.format('%d', position)
  end
  return string.format('s%d', position / 8)
end

-- Reads all fields that are not cached, with one command.
local function read(bucket, state, fields)
  local missing, known = {}, state.read
  for i = 1, #fields do
    if not known[fields[i]] then
      missing[#missing + 1] = fields[i]
    end
  end
  if #missing > 0 then
    local found = redis.call('HMGET', bucket, unpack(missing))
    for i = 1, #missing do
      known[missing[i]] = found[i] or ''
    end
  end
end

-- Returns a charge that was read.
function charge_sums.charge(state, number)
  local charge = state.read[-number]
  if charge then
    return charge
  end
  charge = charge_log.parse(state.read[field_of(number, 1)] or '')
  if not charge then
    state.corrupt_fields = state.corrupt_fields + 1
    return {time_us = 0, amount_micros = 0, lane = 1, end_us = 0, kind = 'gone', receipt = ''}
  end
  state.read[-number] = charge
  return charge
end

-- Returns the time of a full page's last charge and the sums up to it by lane; the page must have been read.
local function sums_of(state, position)
  local text, sums = state.read[field_of(position, 8)] or '', {}
  local time_us = #text >= 16 and #text <= 80 and #text % 8 == 0 and struct.unpack('<d', text) or -1
  for place = 9, #text - 7, 8 do
    local sum = struct.unpack('<d', text, place)
    if not charge_log.whole(time_us, sum, 0, 0, 0) or sum == modulus then
      time_us = -1
    end
    sums[#sums + 1] = sum
  end
  if time_us < 0 then
    state.corrupt_fields = state.corrupt_fields + 1
    return 0, {}
  end
  return time_us, sums
end

local function format(state, time_us, sums)
  local text = struct.pack('<d', time_us)
  for lane = 1, #state.lanes do
    text = text .. struct.pack('<d', sums[lane] or 0)
  end
  return text
end

-- Reads up to count charges from a number on.
function charge_sums.fetch(bucket, state, from, count)
  local fields = {}
  for number = from, math.min(from + count, state.next) - 1 do
    fields[#fields + 1] = field_of(number, 1)
  end
  read(bucket, state, fields)
end

-- Returns the greatest step, with which a search begins.
function charge_sums.top(state)
  local step = 4
  while 2 * step < state.next do
    step = 2 * step
  end
  return step
end

-- Reads what searches need for their step and the four below it; within a page, its charges.
local function ahead(bucket, state, searches)
  local fields = {}
  for i = 1, #searches do
    local position, step = searches[i].position, searches[i].step
    local from, to, by = position + 1, position + 8, 1
    if step >= 8 then
      by = math.max(step / 16, 8)
      from = position + by
      to = position + 2 * step - 1
    end
    for number = from, math.min(to, state.next - 1), by do
      fields[#fields + 1] = field_of(number, step)
    end
  end
  read(bucket, state, fields)
end

-- Returns what a step covers, all of which was read: the last charge's time, and sums by lane.
local function part_of(state, position, step)
  if step >= 8 then
    return sums_of(state, position + step)
  end
  local time_us, sums = 0, {}
  for number = position + 1, position + step do
    local charge = charge_sums.charge(state, number)
    time_us = charge.time_us
    sums[charge.lane] = (sums[charge.lane] or 0) + charge.amount_micros
  end
  return time_us, sums
end

-- Returns what the step of one of several searches covers; reads what all of them need.
function charge_sums.part(bucket, state, searches, search)
  local position, step = search.position, search.step
  local first = position + 1
  if step >= 8 then
    first = position + step
  end
  for number = first, position + step do
    if not state.read[field_of(number, step)] then
      ahead(bucket, state, searches)
    end
  end
  return part_of(state, position, step)
end

-- Advances one of several marks by its step, unless the step goes beyond its horizon.
local function advance(bucket, state, marks, mark)
  local time_us, sums = charge_sums.part(bucket, state, marks, mark)
  if time_us <= mark.horizon_us then
    mark.position = mark.position + mark.step
    for lane = 1, #state.lanes do
      mark.sums[lane] = charge_sums.add(mark.sums[lane] or 0, sums[lane] or 0)
    end
  end
end

-- Finds for each mark the number of the first charge after its horizon (head), that charge's time (head_us), and the sums of all
-- charges before it, by lane.
function charge_sums.find(bucket, state, marks)
  local step = charge_sums.top(state)
  while step >= 1 do
    for i = 1, #marks do
      marks[i].step = step
    end
    for i = 1, #marks do
      if marks[i].position + step < state.next then
        advance(bucket, state, marks, marks[i])
      end
    end
    step = step / 2
  end
  for i = 1, #marks do
    local mark = marks[i]
    mark.head = mark.position + 1
    if mark.head < state.next then
      mark.head_us = charge_sums.charge(state, mark.head).time_us
    end
  end
end

-- Returns the lowest set bit of a number.
local function lowest_bit(number)
  local bit = 1
  while number % (2 * bit) == 0 do
    bit = 2 * bit
  end
  return bit
end

-- Appends the sums of the page that a charge completes to written, as field and value.
function charge_sums.complete(bucket, state, number, written)
  local k, fields, pages, sums = number / 8, {}, {}, {}
  local before = k - lowest_bit(k)
  while before > 0 do
    fields[#fields + 1] = field_of(8 * before, 8)
    pages[#pages + 1] = 8 * before
    before = before - lowest_bit(before)
  end
  read(bucket, state, fields)
  for lane = 1, #state.lanes do
    sums[lane] = state.lanes[lane].total_micros
  end
  for i = 1, #pages do
    local _, parts = sums_of(state, pages[i])
    for lane = 1, #state.lanes do
      sums[lane] = charge_sums.subtract(sums[lane] or 0, parts[lane] or 0)
    end
  end
  written[#written + 1] = field_of(number, 8)
  written[#written + 1] = format(state, state.now_us, sums)
end

-- Appends to written, as fields and values, all sums that change when a charge gets another amount and moves to lane 1.
function charge_sums.amend(bucket, state, charge, amount_micros, written)
  local fields, pages, k = {}, {}, math.ceil(charge.number / 8)
  while 8 * k < state.next do
    fields[#fields + 1] = field_of(8 * k, 8)
    pages[#pages + 1] = 8 * k
    k = k + lowest_bit(k)
  end
  read(bucket, state, fields)
  for i = 1, #fields do
    local time_us, sums = sums_of(state, pages[i])
    sums[charge.lane] = charge_sums.subtract(sums[charge.lane] or 0, charge.amount_micros)
    sums[1] = charge_sums.add(sums[1] or 0, amount_micros)
    local text = format(state, time_us, sums)
    state.read[fields[i]] = text
    written[#written + 1] = fields[i]
    written[#written + 1] = text
  end
end

-- Returns the fields to delete with the oldest page: its charges, their receipts, and sums that only older pages needed. Moves
-- the state past the page.
function charge_sums.forget(bucket, state)
  local first, fields = state.first, {}
  charge_sums.fetch(bucket, state, first, 16)
  for number = first, first + 7 do
    local charge = charge_sums.charge(state, number)
    fields[#fields + 1] = field_of(number, 1)
    if charge.kind ~= 'gone' then
      fields[#fields + 1] = 'r:' .. charge.receipt
    end
    state.stored_micros = state.stored_micros - charge.amount_micros
  end
  local bit = lowest_bit((first + 7) / 8)
  while bit > 1 do
    bit = bit / 2
    fields[#fields + 1] = field_of(first + 7 - 8 * bit, 8)
  end
  state.first = first + 8
  state.due_us = 0
  if first + 15 < state.next then
    state.due_us = charge_sums.charge(state, first + 15).time_us
  end
  return fields
end

return charge_sums
