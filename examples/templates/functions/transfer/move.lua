--- Moves units from one account to another: both change, or neither does.
---
--- The same id again moves nothing more. A refused call writes nothing.
--- @use account
--- @subject the branch that keeps both accounts
--- @key    from     string[account:<payer>] forever   the units of the payer
--- @key    to       string[account:<payee>] forever   the units of the payee
--- @key    done     string[done:<id>]                 what the call with this id did
--- @arg    payer    text[64]                          the account that pays
--- @arg    payee    text[64]                          the account that is paid, another one
--- @arg    id       text[64]                          the transfer, such as an order's id
--- @arg    units    count[1..1000000000]              units to move
--- @must   payee differ from payer
--- @result outcome  enum(moved,short,full)            short: the payer has fewer units. full: the payee would have more than
---     1000000000000000
--- @result left     count[0..1000000000000000]        units of the payer after the call: 70
--- @refused outcome short full
--- @error  RLARG                                      payer is payee, or id has done something else
--- @error  RLSTATE                                    a key holds no balance
local function move(from, to, done, payer, payee, id, units)
  local left, unreadable = account.read(from)
  if not left then
    return nil, unreadable
  end
  local units_to, unreadable_to = account.read(to)
  if not units_to then
    return nil, unreadable_to
  end
  local what = string.format('%.0f %d ', units, #payer) .. payer .. payee
  local repeated, refused = account.repeated(done, what)
  if repeated == nil then
    return nil, refused
  end
  if repeated then
    return 'moved', left
  end
  if units > left then
    return 'short', left
  end
  if units_to + units > account.most_units then
    return 'full', left
  end
  account.store(from, left - units)
  account.store(to, units_to + units)
  account.finish(done, what)
  return 'moved', left - units
end
