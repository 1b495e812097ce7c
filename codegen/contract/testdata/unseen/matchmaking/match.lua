--- Pairs a player with whoever waits and is nearest by rating: both leave the queue.
---
--- A player of 2400 or more is never paired with one below 2000. If nobody fits, the call is refused and writes nothing.
--- @subject the queue, such as a game mode and region
--- @key    waiting     zset[waiting]        players by rating
--- @arg    player      text[64]             who wants to play
--- @arg    within      count[0..1000]       most that the ratings may differ
--- @result found       bool                 false: the player does not wait, or nobody fits
--- @result opponent    text[0..64]          who it is
--- @result difference  count[0..1000]       by how much the ratings differ
--- @refused found
local function match(waiting, player, within)
  local rating = redis.call('ZSCORE', waiting, player)
  if not rating then
    return false, '', 0
  end
  local low, high = rating - within, rating + within
  if rating >= 2400 then
    low = math.max(low, 2000)
  elseif rating < 2000 then
    high = math.min(high, 2399)
  end
  local opponent, least = '', within + 1
  local sides = {
    redis.call('ZREVRANGEBYSCORE', waiting, rating, low, 'WITHSCORES', 'LIMIT', 0, 2),
    redis.call('ZRANGEBYSCORE', waiting, rating, high, 'WITHSCORES', 'LIMIT', 0, 2),
  }
  for s = 1, 2 do
    for i = 1, #sides[s], 2 do
      local difference = math.abs((tonumber(sides[s][i + 1]) or 0) - rating)
      if sides[s][i] ~= player and difference < least then
        opponent = sides[s][i]
        least = difference
      end
    end
  end
  if opponent == '' then
    return false, '', 0
  end
  redis.call('ZREM', waiting, player, opponent)
  return true, opponent, least
end
