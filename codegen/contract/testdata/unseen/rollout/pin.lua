--- Switches a feature on or off for one user, whatever the percentage, for a while.
---
--- A feature that is not set cannot be pinned: such a call is refused, and writes nothing.
--- @use clock
--- @subject the project
--- @key    features    hash[features] forever      percent by feature
--- @key    last        string[pin:<user>]          the last pin of the user
--- @arg    user        text[64]                    the user
--- @arg    feature     text[32]                    the feature
--- @arg    on          bool                        whether it is on for the user
--- @arg    lasts       duration[1m..30d]           how long
--- @result pinned      bool                        false: there is no such feature
--- @result again       bool                        whether the user's last pin was of the same feature
--- @result expires_after duration                  how long it is pinned; 0 when refused
--- @refused pinned
local function pin(features, last, user, feature, on, lasts_us)
  if redis.call('HEXISTS', features, feature) == 0 then
    return false, false, 0
  end
  local word = 'off'
  if on then
    word = 'on'
  end
  local before = redis.call('GET', last)
  local again = false
  if before then
    again = string.sub(before, 1, #feature + 1) == feature .. ' '
  end
  clock.store_for(last, feature .. ' ' .. word, lasts_us)
  local one = last .. ':' .. feature
  clock.store_for(one, word, lasts_us)
  return true, again, lasts_us
end
