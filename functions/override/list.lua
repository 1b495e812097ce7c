--- Lists the active overrides by subject and budget, unless the caller already has this version; writes nothing.
---
--- Every set and clear changes the version. An override that expires does not: callers expire each by their own clock,
--- after left.
--- @use clock override_set
--- @flags  no-writes
--- @subject                     one name for each namespace, under which its overrides are kept
--- @key    bucket          hash[overrides]      overrides of a namespace, by subject and budget
--- @arg    known           count?               version that the caller has; omit it to always get the list
--- @result changed         bool                 whether the version differs from known; otherwise nothing is listed
--- @result version         count                current version, in microseconds by the server's clock: 1767323045678901; 0 without
---     overrides
--- @result overrides       group                the overrides, by subject and budget
--- @result overrides.subject text[512]          subject that it applies to
--- @result overrides.effect enum(allow,deny,multiply,add) its effect
--- @result overrides.factor count[0..1000000]   by how much each limit of the subject is multiplied: 10; 1 unless effect is multiply
--- @result overrides.budget text[0..32]         budget that gets more; empty unless effect is add
--- @result overrides.unit  text[0..32]          its unit: tokens; empty for money
--- @result overrides.amount micros              how much more: 500000000; of a unit, whole ones; 0 unless effect is add
--- @result overrides.left  duration             time until it expires: more than 0
--- @result overrides.ends  time                 when it expires, by the server's clock
--- @result overrides.set   time                 when it was set
--- @result overrides.by    text[128]            operator that set it
--- @result overrides.reason text[256]           why it was set
--- @error  RLSTATE                              the key holds data that is not an override
local function list(bucket, known)
  local version, no_version = override_set.version(bucket)
  if not version then
    return nil, no_version
  end
  if version == known then
    return false, version, {}
  end
  local overrides, unreadable = override_set.read(bucket, clock.now_us())
  if not overrides then
    return nil, unreadable
  end
  return true, version, override_set.sorted(overrides)
end
