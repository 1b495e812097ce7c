--- Returns whether a feature is on for a user; writes nothing.
---
--- Each user has a number from 0 to 99 in each feature, which depends on nothing else. A feature of 0 percent is on for nobody, one of
--- 100 percent for everybody. Testers have each feature that anybody has.
--- @flags  no-writes
--- @subject the project
--- @key    features    hash[features] forever    percent by feature
--- @arg    feature     text[32]                  the feature
--- @arg    user        text[64]                  the user
--- @arg    tester      bool=false                whether the user is a tester
--- @arg    standard    bool=false                what counts for a feature that is not set
--- @result on          bool                      whether the feature is on
--- @result number      count[0..99]              the user's number
--- @result reason      enum(percent,tester,standard) why
local function decide(features, feature, user, tester, standard)
  local digest = redis.sha1hex(feature .. '/' .. user)
  local number = tonumber(string.sub(digest, 1, 8), 16) % 100
  local text = redis.call('HGET', features, feature)
  if not text then
    return standard, number, 'standard'
  end
  local percent = tonumber(text) or 0
  if tester and percent > 0 then
    return true, number, 'tester'
  end
  if percent >= 100 then
    return true, number, 'percent'
  end
  return number <= percent, number, 'percent'
end
