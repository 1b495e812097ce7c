--- A cost of a call in another unit than money.
--- @use refusal
--- @lib unit_amount
--- @arg    unit        text[32]                 the unit: tokens; no two rows have the same
--- @arg    amount      count[0..1000000000000000] the cost in it
--- @arg    unreserved  bool?                    whether an estimate must fit, but is not reserved; settle ignores it
local unit_amount = {}

function unit_amount.prepare(row, above)
  for i = 1, #above do
    if above[i].unit == row.unit then
      return nil, refusal.argument('unit must differ from those of the other rows: a call has one amount of each')
    end
  end
  return row
end

-- Returns the amount of a call in a unit, 0 if it names none, and whether it must only fit; without a unit the amount in money.
function unit_amount.of(call, unit)
  if not unit then
    return call.amount_micros, false
  end
  for i = 1, #call.units do
    local row = call.units[i]
    if row.unit == unit then
      return row.amount, row.unreserved
    end
  end
  return 0, false
end

return unit_amount
