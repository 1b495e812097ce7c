--- Lets a player wait for an opponent, if fewer than most players wait.
---
--- Who waits already keeps the place, with the new rating. A refused call writes nothing.
--- @use clock
--- @subject the queue, such as a game mode and region
--- @key    waiting     zset[waiting]               players by rating
--- @arg    player      text[64]                    who wants to play
--- @arg    rating      count[0..5000]              the player's rating
--- @arg    most        count[1..10000]=10000       most players who wait
--- @arg    keep        duration[1m..1d]=1h         how long the queue is kept after the last join, at least
--- @result allowed     bool                        whether the player waits now
--- @result players     count[0..10000]             players who wait after the call
local function join(waiting, player, rating, most, keep_us)
  local players = redis.call('ZCARD', waiting)
  if redis.call('ZSCORE', waiting, player) then
    redis.call('ZADD', waiting, 'XX', rating, player)
    clock.extend(waiting, keep_us)
    return true, players
  end
  if players >= most then
    return false, players
  end
  redis.call('ZADD', waiting, rating, player)
  clock.extend(waiting, keep_us)
  return true, players + 1
end
