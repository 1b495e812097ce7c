--- What a receipt has reserved: a key of its own, which expires.
---
--- It says when that was, until when the estimate counts unless it is settled, and of each account the estimate and the windows in which it
--- was charged. A settlement leaves that, so that a repeat is known; if nothing was spent, the receipt has paid nothing.
--- @use clock refusal
--- @lib reservation_record
--- @state reservation_record 1 'r' reserved or 's' settled, two times in microseconds; then '<account>=<amount> <window> <window>' of each account, joined by ';'. An account is its key, without 'namespace:{subject}:spent' if that is the reservation's own
local reservation_record = {}

-- Returns the name of an account in a reservation of that key.
local function name_of(key, account_key)
  local own = string.find(key, '}', 1, true) or 0
  if string.sub(account_key, 1, own) == string.sub(key, 1, own) then
    return string.sub(account_key, own + #':spent' + 1)
  end
  return account_key
end

local function unreadable(key)
  return refusal.state(key, 'holds no reservation')
end

-- Returns what a key says, false if it does not exist; or nil and a refusal.
function reservation_record.read(key)
  local stored = redis.call('GET', key)
  if not stored then
    return false
  end
  local state, made, stop, rest = string.match(stored, '^([rs]) (%d+) (%d+) (.+)$')
  local made_us, until_us, accounts = clock.parse_us(made), clock.parse_us(stop), {}
  for part in string.gmatch(rest or '', '[^;]+') do
    local name, amount, windows = string.match(part, '^(.*)=(%d+)([ %d-]*)$')
    local one = {amount = clock.parse_us(amount), windows = {}}
    for window in string.gmatch(windows or '', '[^ ]+') do
      one.windows[window] = true
    end
    accounts[name or ''] = one
    if not one.amount then
      return nil, unreadable(key)
    end
  end
  if not made_us or not until_us then
    return nil, unreadable(key)
  end
  return {key = key, settled = state == 's', made_us = made_us, until_us = until_us, accounts = accounts}
end

-- Returns what a reservation has of an account, or nil.
function reservation_record.of(self, account_key)
  return self.accounts[name_of(self.key, account_key)]
end

-- Writes a reservation of accounts: of each its key, its amount, and the windows that charge it. Without keep_us it is kept as long as before.
function reservation_record.write(key, settled, made_us, until_us, accounts, keep_us)
  local text = (settled and 's ' or 'r ') .. clock.text(made_us) .. ' ' .. string.format('%d', until_us)
  for i = 1, #accounts do
    local one = accounts[i]
    text = text .. (i == 1 and ' ' or ';') .. name_of(key, one.key) .. '=' .. string.format('%d', one.charged)
    for j = 1, #one.charges do
      text = text .. ' ' .. one.charges[j].name
    end
  end
  if keep_us then
    clock.store_for(key, text, keep_us)
  else
    redis.call('SET', key, text, 'KEEPTTL')
  end
end

return reservation_record
