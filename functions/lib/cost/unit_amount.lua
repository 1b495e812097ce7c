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

return unit_amount
