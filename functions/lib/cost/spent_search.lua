--- Finds when enough of a window's use will have left it, if nothing else happens.
---
--- Charges leave in groups: within a group in the order of their numbers, a fixed span after each charge's time. Charges without
--- a hold, or with one that is not shorter than the window, leave with the window; the others leave per lane. From a period, all that are
--- left leave at its end. All groups are searched together, each bisected until one of its charges is left.
--- @use charge_sums
--- @lib spent_search
local spent_search = {}

local largest = 9007199254740992

-- Creates a group: its lanes, its span, which row's end cuts off, its oldest charge and when that leaves, and the sum of its lanes before that.
local function group_of(state, row, span_us, head, head_us, base_micros)
  local end_us = row.end_us or largest
  return {
    lanes = {}, span_us = span_us, end_us = end_us, head = head, first_us = math.min(head_us + span_us, end_us), base_micros = base_micros,
    position = 0, sum_micros = 0, next_micros = 0, until_us = 0, step = charge_sums.top(state), seen_step = 0,
  }
end

-- Returns the mark of the first charge of a period.
local function beginning_of(bucket, state, row)
  local mark = {horizon_us = math.max(row.start_us - 1, state.kept_us), head = 0, head_us = 0, position = 0, step = 0, sums = {}}
  charge_sums.find(bucket, state, {mark})
  return mark
end

-- Returns the groups of a window, the one that leaves with it, and what is in that one.
local function groups_of(bucket, state, row)
  local total_micros, inside_micros, groups, beginning = 0, row.spent_micros, {}, nil
  local longest_us = row.start_us and largest or row.window_us -- a shorter hold may end before the window or period
  local main = group_of(state, row, longest_us, row.head, row.head_us, 0)
  groups[1] = main
  for i = 1, #state.lanes do
    local lane = state.lanes[i]
    local head, head_us, base_micros = lane.head, lane.head_us, lane.base_micros
    if row.start_us and head < row.head and lane.total_micros ~= base_micros then
      -- Some of the lane's open charges are older than the period.
      beginning = beginning or beginning_of(bucket, state, row)
      head = beginning.head
      head_us = beginning.head_us
      base_micros = beginning.sums[i] or 0
    end
    local open_micros = charge_sums.subtract(lane.total_micros, base_micros)
    if i > 1 and open_micros > 0 and (lane.hold_us < longest_us or lane.head > row.head) then
      local group = group_of(state, row, math.min(lane.hold_us, longest_us), head, head_us, base_micros)
      group.lanes[1] = i
      groups[#groups + 1] = group
      inside_micros = inside_micros - open_micros
    elseif i == 1 or open_micros > 0 then
      main.lanes[#main.lanes + 1] = i
      total_micros = charge_sums.add(total_micros, lane.total_micros)
    end
  end
  main.base_micros = charge_sums.subtract(total_micros, inside_micros)
  return groups, main, inside_micros
end

-- Advances a group past charges that have left or do not exist, and notes time and sum up to the next step. The step is below 1
-- if there is none.
local function prepare(bucket, state, groups, group)
  local ready = group.step == group.seen_step
  while group.step >= 1 and not ready do
    local position = group.position + group.step
    if position < state.next then
      local time_us, sums = charge_sums.part(bucket, state, groups, group)
      group.next_micros = group.sum_micros
      for i = 1, #group.lanes do
        group.next_micros = charge_sums.add(group.next_micros, sums[group.lanes[i]] or 0)
      end
      group.until_us = math.min(time_us + group.span_us, group.end_us)
      ready = position >= group.head
      group.seen_step = group.step
      if not ready then
        group.position = position
        group.sum_micros = group.next_micros
      end
    end
    if not ready then
      group.step = group.step / 2
    end
  end
end

-- Returns what a charge costs in a group: 0 if it belongs to another one.
local function amount_in(group, charge)
  for i = 1, #group.lanes do
    if group.lanes[i] == charge.lane then
      return charge.amount_micros
    end
  end
  return 0
end

-- Returns what the remaining charge of a group costs in it, and when it leaves.
local function last_of(bucket, state, group)
  local number = group.position + 1
  if number >= state.next then
    return 0, 0
  end
  charge_sums.fetch(bucket, state, number, 1)
  local charge = charge_sums.charge(state, number)
  return amount_in(group, charge), math.min(charge.time_us + group.span_us, group.end_us)
end

-- Returns the index of the group with the earliest candidate, and of that with the latest; 0 when one charge is left of each.
local function outermost(groups)
  local earliest, latest = 0, 0
  for i = 1, #groups do
    if groups[i].step >= 1 then
      if earliest == 0 or groups[i].until_us < groups[earliest].until_us then
        earliest = i
      end
      if latest == 0 or groups[i].until_us > groups[latest].until_us then
        latest = i
      end
    end
  end
  return earliest, latest
end

-- Returns the most that has left once the earliest candidate has.
local function left_by(bucket, state, groups, until_us)
  local left_micros = 0
  for i = 1, #groups do
    local group = groups[i]
    if group.step >= 1 then
      left_micros = left_micros + charge_sums.subtract(group.next_micros, group.base_micros)
    else
      local last_micros, leaves_us = last_of(bucket, state, group)
      left_micros = left_micros + charge_sums.subtract(group.sum_micros, group.base_micros)
      if leaves_us <= until_us then
        left_micros = left_micros + last_micros
      end
    end
  end
  return left_micros
end

-- Returns when the first of the remaining charges leaves that reaches the sum.
local function reached_us(bucket, state, groups, excess_micros)
  local order, room_us = {}, 0
  for i = 1, #groups do
    local group = groups[i]
    local last_micros, leaves_us = last_of(bucket, state, group)
    excess_micros = excess_micros - charge_sums.subtract(group.sum_micros, group.base_micros)
    order[i] = {leaves_us = leaves_us, amount_micros = last_micros}
  end
  table.sort(order, function(a, b) return a.leaves_us < b.leaves_us end)
  for i = 1, #order do
    if excess_micros > 0 then
      room_us = order[i].leaves_us
      excess_micros = excess_micros - order[i].amount_micros
    end
  end
  if excess_micros > 0 then
    state.corrupt_fields = state.corrupt_fields + 1
  end
  return room_us
end

-- Returns when excess_micros or more will have left the window: above 0, and at most what is spent.
function spent_search.room_us(bucket, state, row, excess_micros)
  -- Usually the charge that leaves first is enough. Without the groups, a refusal takes 8 % fewer instructions.
  if #state.lanes == 1 and row.start_us then
    return row.end_us
  elseif #state.lanes == 1 and row.head < state.next then
    charge_sums.fetch(bucket, state, row.head, 1)
    if charge_sums.charge(state, row.head).amount_micros >= excess_micros then
      return row.head_us + row.window_us
    end
  end
  local groups, soonest, main_micros = groups_of(bucket, state, row)
  if row.start_us and excess_micros > row.spent_micros - main_micros then
    return row.end_us
  end
  for i = 2, #groups do
    if groups[i].first_us < soonest.first_us then
      soonest = groups[i]
    end
  end
  if soonest.head < state.next then
    charge_sums.fetch(bucket, state, soonest.head, 1)
    if amount_in(soonest, charge_sums.charge(state, soonest.head)) >= excess_micros then
      return soonest.first_us
    end
  end
  local earliest = 0
  repeat
    local latest
    for i = 1, #groups do
      prepare(bucket, state, groups, groups[i])
    end
    earliest, latest = outermost(groups)
    if earliest > 0 then
      local group = groups[earliest]
      if left_by(bucket, state, groups, group.until_us) < excess_micros then
        group.position = group.position + group.step
        group.sum_micros = group.next_micros
      else
        group = groups[latest]
      end
      group.step = group.step / 2
    end
  until earliest == 0
  return reached_us(bucket, state, groups, excess_micros)
end

return spent_search
