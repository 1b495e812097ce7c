--- Returns what a voucher takes off an order, at most a limit; writes nothing.
--- @use clock
--- @flags  no-writes
--- @key    voucher     hash[voucher] forever           'left' how often it can be redeemed, 'percent' what it takes off, 'ends' when it ends
--- @arg    amount      micros[1..1000000000000]        what the order costs
--- @arg    most        micros[1000000..1000000000000]? most that is taken off; any amount if omitted
--- @result off         micros[0..1000000000000]        what is taken off
--- @result due         micros[0..1000000000000]        what is left to pay
local function discount(voucher, amount_micros, most_micros)
  local found = redis.call('HMGET', voucher, 'percent', 'ends')
  local percent = math.min(math.max(tonumber(found[1]) or 0, 0), 90)
  local ends_us = clock.parse_us(found[2] or '0') or 0
  if clock.now_us() >= ends_us then
    return 0, amount_micros
  end
  local off_micros = amount_micros * percent / 100
  if most_micros and off_micros > most_micros then
    off_micros = most_micros
  end
  return off_micros, amount_micros - off_micros
end
