--- Returns the events of a batch; writes nothing.
--- @flags  no-writes
--- @key    items    list[items:<batch>]           events of the batch
--- @arg    batch    text[32]                      the batch
--- @result events   list[0..1000] of bytes[16384] the events, oldest first
local function retrieve(items, batch)
  return redis.call('LRANGE', items, 0, 999)
end
