--- Sells a unit of a slot for the credit. The rest of the credit stays for as long as it would have.
---
--- A refused call writes nothing.
--- @subject the machine
--- @key    slots       hash[slots] forever       'u:<slot>' units in each slot
--- @key    credit      string[credit]            cents that were paid
--- @arg    slot        count[1..60]              the slot
--- @arg    price       count[1..2000]            what a unit costs, in cents
--- @result outcome     enum(sold,short)          short: the credit is less than the price
--- @result cents       count[0..2000]            credit after the call
--- @result units       count[0..50]              units in the slot after the call
--- @refused outcome short
local function vend(slots, credit, slot, price)
  local cents = math.min(tonumber(redis.call('GET', credit)) or 0, 2000)
  local field = 'u:' .. slot
  local units = math.min(tonumber(redis.call('HGET', slots, field)) or 0, 50)
  if units < 1 then
    return nil, {err = 'EMPTY the slot has no units'}
  end
  if cents < price then
    return 'short', cents, units
  end
  redis.call('HSET', slots, field, units - 1)
  if cents == price then
    redis.call('DEL', credit)
  else
    redis.call('SET', credit, cents - price, 'KEEPTTL')
  end
  return 'sold', cents - price, units - 1
end
