--- Removes a batch that is done.
--- @key    items    list[items:<batch>]    events of the batch
--- @key    metadata hash[metadata:<batch>] 'status' of the batch
--- @arg    batch    text[32]               the batch
--- @result dropped  bool                   whether it was there
local function drop(items, metadata, batch)
  return redis.call('DEL', items, metadata) > 0
end
