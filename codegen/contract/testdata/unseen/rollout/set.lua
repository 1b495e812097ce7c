--- Sets for how many percent of the users a feature is on. A project has at most 200 features.
---
--- A refused call writes nothing. The last 50 changes are kept.
--- @use clock
--- @subject the project
--- @key    features    hash[features] forever    percent by feature
--- @key    changes     list[changes] forever     the last 50 changes, newest first, each as JSON: feature, percent before and after, who, and the time in
---     microseconds
--- @arg    feature     text[32]                  the feature
--- @arg    percent     count[0..100]             for how many percent it is on
--- @arg    by          text[64]?                 who sets it
--- @result allowed     bool                      false: it would be the 201st feature
--- @result before      count[0..100]?            percent before the call; none for a new feature
--- @result features    count[0..200]             features of the project after the call
local function set(features, changes, feature, percent, by)
  local before = tonumber(redis.call('HGET', features, feature))
  local known = redis.call('HLEN', features)
  if not before and known >= 200 then
    return false, nil, 200
  end
  if before ~= percent then
    local change = {feature, before or -1, percent, by or '', clock.text(clock.now_us())}
    redis.call('HSET', features, feature, percent)
    redis.call('LPUSH', changes, cjson.encode(change))
    redis.call('LTRIM', changes, 0, 49)
  end
  if not before then
    return true, nil, known + 1
  end
  return true, math.min(before, 100), math.min(known, 200)
end
