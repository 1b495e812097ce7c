--- Lists the overrides that hold, by subject, unless the caller knows them; changes nothing.
---
--- The version changes with every set and clear. An override that ends changes no version: a caller ends each by its
--- own clock, after what it has left.
--- @use clock override_set
--- @flags  no-writes
--- @key    bucket          hash[overrides]      the overrides of a namespace, by subject
--- @arg    known           count?               the version that the caller knows; every answer differs from none
--- @result changed         bool                 whether the version is another than known; if not, nothing is listed
--- @result version         count                the version now, in microseconds by the server's clock: 1767323045678901; 0 without overrides
--- @result overrides       group                the overrides, by subject
--- @result overrides.subject text[512]          whom it is for
--- @result overrides.effect enum(allow,deny,multiply) what it does
--- @result overrides.factor count[0..1000000]   how many times each limit the subject has: 10; 1 where effect is not multiply
--- @result overrides.left  duration             how long it still holds: more than 0
--- @result overrides.ends  time                 when it ends, by the server's clock
--- @result overrides.set   time                 when it was set
--- @result overrides.by    text[128]            who set it
--- @result overrides.reason text[256]           why it was set
--- @error  RLSTATE                              the key holds what is no override
local function list(bucket, known)
  local version, no_version = override_set.version(bucket)
  if not version then
    return nil, no_version
  end
  if version == known then
    return false, version, {}
  end
  local held, no_held = override_set.read(bucket, clock.now_us())
  if not held then
    return nil, no_held
  end
  return true, version, override_set.sorted(held)
end
