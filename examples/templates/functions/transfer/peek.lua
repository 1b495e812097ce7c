--- Returns the units of an account; writes nothing.
--- @use account
--- @flags  no-writes
--- @subject the branch that keeps the account
--- @key    balance  string[account:<account_id>] forever   the units of the account
--- @arg    account_id text[64]                             the account
--- @result left     count[0..1000000000000000]             its units: 100; 0 for an unknown account
--- @error  RLSTATE                                         the key holds no balance
local function peek(balance, account_id)
  local left, unreadable = account.read(balance)
  if not left then
    return nil, unreadable
  end
  return left
end
