--- Pays credit back, in whole coins of one kind. What is less than a coin stays as credit.
--- @subject the machine
--- @key    credit      string[credit]            cents that were paid
--- @arg    coin        count[1..500]             the coins to pay in, in cents
--- @arg    most        count[1..200]=200         coins that the machine has
--- @result coins       count[0..200]             coins to pay out
--- @result cents       count[0..2000]            credit after the call
local function refund(credit, coin, most)
  local cents = math.min(tonumber(redis.call('GET', credit)) or 0, 2000)
  local coins = math.min(math.floor(cents / coin), most)
  if coins == 0 then
    return 0, cents
  end
  local rest = cents - coins * coin
  if rest > 0 then
    redis.call('SET', credit, rest)
  else
    redis.call('DEL', credit)
  end
  return coins, rest
end
