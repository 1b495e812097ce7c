local cents_of = {c5 = 5, c10 = 10, c20 = 20, c50 = 50, c100 = 100, c200 = 200}

--- Takes a coin, unless the credit would be above 2000 cents, or the machine has 200 coins of this kind.
---
--- Each coin renews the time in which the credit can be used, and none shortens it. A refused call writes nothing.
--- @use clock
--- @subject the machine
--- @key    credit      string[credit]                    cents that were paid
--- @key    coins       hash[coins] forever               coins of each kind that the machine has
--- @arg    coin        enum(c5,c10,c20,c50,c100,c200)    the coin, by its cents
--- @arg    keep        duration[30s..10m]=3m             how long the credit can be used, at least
--- @result outcome     enum(taken,too_much,tube_full)    unless taken, the coin is given back
--- @result cents       count[0..2000]                    credit after the call
--- @result held        count[0..200]                     coins of this kind after the call
--- @refused outcome too_much tube_full
local function insert(credit, coins, coin, keep_us)
  local most, tube = 2000, 200
  local value = cents_of[coin]
  local cents = math.min(tonumber(redis.call('GET', credit)) or 0, most)
  local held = math.min(tonumber(redis.call('HGET', coins, coin)) or 0, tube)
  if held == tube then
    return 'tube_full', cents, held
  end
  if cents + value > most then
    return 'too_much', cents, held
  end
  redis.call('HSET', coins, coin, held + 1)
  redis.call('SET', credit, cents + value, 'KEEPTTL')
  clock.extend(credit, keep_us)
  return 'taken', cents + value, held + 1
end
