--- The newest things that happened to the locks.
--- @lib changelog
local changelog = {}

-- Adds an entry, and keeps the newest 1000.
function changelog.add(changes, now_us, event, digest, job)
  redis.call('ZADD', changes, now_us, cjson.encode({event, digest, job}))
  redis.call('ZREMRANGEBYRANK', changes, 0, -1001)
end

return changelog
