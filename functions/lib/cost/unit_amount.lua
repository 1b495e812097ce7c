--- A cost of a call in another unit than money.
--- @lib unit_amount
--- @arg    unit        text[32]                 the unit: tokens
--- @arg    amount      count[0..1000000000000000] the cost in it
--- @arg    unreserved  bool?                    whether an estimate must fit, but is not reserved; settle ignores it
local unit_amount = {}

return unit_amount
