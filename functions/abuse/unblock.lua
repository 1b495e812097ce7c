--- Ends a subject's block, whoever started it.
---
--- Tiers that started it count anew, as after its end. Without pardon the strikes stay, so the next block is longer still.
--- @key    bucket          string[block]        the block
--- @key    attempts        string[attempts]     when attempts were made and blocks began
--- @key    pages           zset[attempt_pages]  older attempts, where there are more than 12
--- @arg    pardon          bool?                whether attempts and strikes are forgotten as well
--- @result existed         bool                 whether there was a block, or with pardon anything, to forget
local function unblock(bucket, attempts, pages, pardon)
  if pardon then
    return redis.call('UNLINK', bucket, attempts, pages) > 0
  end
  return redis.call('DEL', bucket) > 0
end
