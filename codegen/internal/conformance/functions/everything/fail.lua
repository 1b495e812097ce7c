--- Fails in the requested way.
--- @use clock
--- @key    bucket      string[state]                       the subject's key
--- @arg    how         enum(not,declared,runtime,command,result,negative,nan) how to fail
--- @result number      count                               1
--- @error  RLBUSY                                          when told so
local function fail(bucket, how)
  if how == 'declared' then
    return nil, {err = 'RLBUSY as declared'}
  end
  if how == 'runtime' then
    local nothing = redis.call('GET', bucket)
    return nothing.field
  end
  if how == 'command' then
    redis.call('SET', bucket, 'x', 'PX', 0)
  end
  if how == 'negative' then
    return -1
  end
  if how == 'nan' then
    return 0 / (clock.now_us() * 0)
  end
  if how == 'result' then
    return clock.now_us() * 1000000000
  end
  return 1
end
