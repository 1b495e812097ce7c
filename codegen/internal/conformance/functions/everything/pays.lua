--- Answers with its keys, of which some end in an argument.
--- @flags  no-writes
--- @subject the branch of both accounts
--- @key    from           string[account:<payer>]       the account that pays
--- @key    to             string[account:<payee>]       the account that is paid
--- @key    seen           hash[paid:<payer>]?receipt.of a key that goes with one argument and ends in another
--- @arg    payer          text[0..300]                  any bytes, also none
--- @arg    payee          text[0..300]                  any bytes, also none
--- @arg    receipt        text[16]?                     a text that may be absent
--- @result same           bool                          whether both accounts are one
--- @result stored         count                         bytes of both accounts
--- @result from           text                          the first key
--- @result to             text                          the second key
--- @result seen           text                          the third key, empty when absent
local function pays(from, to, seen, payer, payee, receipt)
  local stored = redis.call('STRLEN', from) + redis.call('STRLEN', to)
  if receipt and seen then
    return payer == payee, stored, from, to, seen
  end
  return payer == payee, stored, from, to, ''
end
