--- The units of an account, and what a call with an id did.
--- @use clock refusal
--- @lib account
--- @state account 1 a whole number of units
--- @state done    1 what the call with an id did, as one text
local account = {most_units = 1000000000000000}

-- Returns an account's units, 0 without any. Or nil and a refusal.
function account.read(key)
  local units = tonumber(redis.call('GET', key) or '0')
  if not units or units < 0 or units > account.most_units or units % 1 ~= 0 then
    return nil, refusal.state(key, 'holds no balance')
  end
  return units
end

-- Stores an account's units, which last.
function account.store(key, units)
  redis.call('SET', key, string.format('%.0f', units))
end

-- Reports whether the call with this id did its work before. Or nil and a refusal if it did something else.
function account.repeated(done, what)
  local before = redis.call('GET', done)
  if before and before ~= what then
    return nil, refusal.argument('id must be a new one: a call with this id did something else')
  end
  return before == what
end

-- Stores what a call with an id did, for a day.
function account.finish(done, what)
  clock.store_for(done, what, 86400000000)
end

return account
