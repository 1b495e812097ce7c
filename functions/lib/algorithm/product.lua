--- Quotients of products that may be greater than 2^53, which a number cannot hold.
--- @lib product
local product = {}

-- 2^52: a smaller product, its quotient rounded to a whole number, and the remainder are exact. Callers that are called often compare first.
product.exact = 4503599627370496

-- Returns a * b / c, rounded down, and the remainder. c is at most 2^40, b not negative, and a, b and the quotient below 2^52.
function product.quotient(a, b, c)
  local whole = a * b
  if whole < product.exact and whole > -product.exact then
    return math.floor(whole / c), whole % c
  end
  local a_rest, b_rest = a % c, b % c
  local quotient, rest = 0, 0
  -- Both rests are below c. Twelve bits at a time, rest * 4096 and a_rest * digit are below 2^52, and their sum below 2^53.
  for shift = 36, 0, -12 do
    rest = rest * 4096 + a_rest * (math.floor(b_rest / 2 ^ shift) % 4096)
    quotient = quotient * 4096 + math.floor(rest / c)
    rest = rest % c
  end
  return math.floor(a / c) * b + a_rest * math.floor(b / c) + quotient, rest
end

-- Returns a * b / c, rounded up.
function product.quotient_up(a, b, c)
  local quotient, rest = product.quotient(a, b, c)
  if rest > 0 then
    return quotient + 1
  end
  return quotient
end

return product
