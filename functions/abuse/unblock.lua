--- Ends a subject's block, whether a tier or an operator started it.
---
--- Tiers that started it count from zero, as after it expires. Without pardon the strikes remain, so the next block is
--- longer.
--- @key    bucket          string[block:<name>] the block: active while the key exists
--- @key    attempts        zset[attempts:<name>] when attempts were made
--- @key    strikes         list[strikes:<name>] when blocks began that tiers started
--- @arg    pardon          bool?                whether to forget attempts and strikes as well
--- @arg    name            text[32]?            a block of its own by this name, with its own attempts: login
--- @result existed         bool                 whether there was a block to end, or with pardon anything to forget
local function unblock(bucket, attempts, strikes, pardon, name)
  if pardon then
    return redis.call('UNLINK', bucket, attempts, strikes) > 0
  end
  return redis.call('DEL', bucket) > 0
end
