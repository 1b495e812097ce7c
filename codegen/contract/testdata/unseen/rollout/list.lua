--- Lists the features of a project by name; writes nothing.
--- @flags  no-writes
--- @subject the project
--- @key    features          hash[features] forever    percent by feature
--- @arg    least             count[0..100]=0           leaves out features that are on for fewer percent
--- @result features          group[0..200]             the features
--- @result features.feature  text[32]                  the feature
--- @result features.percent  count[0..100]             for how many percent it is on
--- @result everybody         count[0..200]             features that are on for everybody
local function list(features, least)
  local rows, everybody = {}, 0
  if redis.call('HLEN', features) > 200 then
    return rows, 0
  end
  local found = redis.call('HGETALL', features)
  for i = 1, #found, 2 do
    local percent = math.min(tonumber(found[i + 1]) or 0, 100)
    if percent >= least then
      rows[#rows + 1] = {feature = found[i], percent = percent}
    end
    if percent == 100 then
      everybody = everybody + 1
    end
  end
  table.sort(rows, function(a, b) return a.feature < b.feature end)
  return rows, everybody
end
