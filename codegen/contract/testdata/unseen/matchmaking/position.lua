--- Returns how a player's rating stands among those who wait; writes nothing.
--- @flags  no-writes
--- @subject the queue, such as a game mode and region
--- @key    waiting     zset[waiting]        players by rating
--- @arg    player      text[64]             who asks
--- @result found       bool                 whether the player waits
--- @result place       count[0..10000]      1 for the lowest rating; 0 if not found
--- @result below       count[0..10000]      players with a lower rating
--- @result percentile  count[0..100]        percent of the other players who have a lower rating, rounded down; 0 without others
local function position(waiting, player)
  local rank = redis.call('ZRANK', waiting, player)
  if not rank then
    return false, 0, 0, 0
  end
  local rating = redis.call('ZSCORE', waiting, player)
  local below = redis.call('ZCOUNT', waiting, '-inf', '(' .. rating)
  local others = redis.call('ZCARD', waiting) - 1
  local percentile = 0
  if others > 0 then
    percentile = math.floor(below * 100 / others)
  end
  return true, rank + 1, below, percentile
end
