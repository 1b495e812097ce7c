--- Fills slots: all of a delivery, or nothing of it.
---
--- A refused call writes nothing.
--- @use refusal
--- @subject the machine
--- @key    slots          hash[slots] forever    'u:<slot>' units in each slot
--- @arg    delivery       group[1..60]           what is put in
--- @arg    delivery.slot  count[1..60]           the slot
--- @arg    delivery.units count[1..50]           how many units
--- @result allowed        bool                   false: a slot would hold more than 50 units
--- @result units          count[0..3000]         units that were put in; 0 when refused
--- @result full           count[0..60]           slots of the delivery that are full now, or the first one that would be too full
--- @error  RLARG                                 a slot is named twice
local function load(slots, delivery)
  local seen, after = {}, {}
  for i = 1, #delivery do
    local slot = delivery[i].slot
    if seen[slot] then
      return nil, refusal.argument('each slot may be named once')
    end
    seen[slot] = true
    local units = tonumber(redis.call('HGET', slots, 'u:' .. slot)) or 0
    after[i] = units + delivery[i].units
    if after[i] > 50 then
      return false, 0, slot
    end
  end
  local sum, full = 0, 0
  for i = 1, #delivery do
    redis.call('HSET', slots, 'u:' .. delivery[i].slot, after[i])
    sum = sum + delivery[i].units
    if after[i] == 50 then
      full = full + 1
    end
  end
  return true, sum, full
end
