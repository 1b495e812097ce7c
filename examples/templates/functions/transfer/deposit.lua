--- Adds units to an account from outside, or takes some out.
---
--- The same id again adds nothing more. A refused call writes nothing.
--- @use account
--- @subject the branch that keeps the account
--- @key    balance  string[account:<account_id>] forever   the units of the account
--- @key    done     string[done:<id>]                      what the call with this id did
--- @arg    account_id text[64]                             the account
--- @arg    id       text[64]                               the deposit, such as a payment's id
--- @arg    units    int[-1000000000..1000000000]           units that come in, or go out if below 0
--- @result allowed  bool                                   false: the account would be below 0, or above 1000000000000000
--- @result left     count[0..1000000000000000]             units of the account after the call: 100
--- @error  RLARG                                           id has done something else
--- @error  RLSTATE                                         a key holds no balance
local function deposit(balance, done, account_id, id, units)
  local left, unreadable = account.read(balance)
  if not left then
    return nil, unreadable
  end
  local what = string.format('%.0f ', units) .. account_id
  local repeated, refused = account.repeated(done, what)
  if repeated == nil then
    return nil, refused
  end
  if repeated then
    return true, left
  end
  local after = left + units
  if after < 0 or after > account.most_units then
    return false, left
  end
  account.store(balance, after)
  account.finish(done, what)
  return true, after
end
