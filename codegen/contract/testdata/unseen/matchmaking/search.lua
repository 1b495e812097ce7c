--- Finds how far a search must go until enough players are in reach, and lists some of them: the width doubles until then; writes nothing.
--- @flags  no-writes
--- @subject the queue, such as a game mode and region
--- @key    waiting             zset[waiting]        players by rating
--- @arg    rating              count[0..5000]       the rating in the middle
--- @arg    width               count[0..400]        width to begin with, either way
--- @arg    enough              count[1..10]         players who are enough
--- @result width               count[0..10000]      the width that was reached
--- @result in_reach            count[0..10000]      players within width
--- @result players             group[0..10]         up to ten of them, lowest rating first
--- @result players.player      text[64]             the player
--- @result players.difference  int[-10000..10000]   by how much the player's rating is higher
local function search(waiting, rating, width, enough)
  local reach = width
  local in_reach = redis.call('ZCOUNT', waiting, rating - reach, rating + reach)
  while in_reach < enough and reach < 5000 do
    reach = reach * 2
    in_reach = redis.call('ZCOUNT', waiting, rating - reach, rating + reach)
  end
  local players = {}
  if in_reach == 0 then
    return reach, 0, players
  end
  local found = redis.call('ZRANGEBYSCORE', waiting, rating - reach, rating + reach, 'WITHSCORES', 'LIMIT', 0, 10)
  for i = 1, #found, 2 do
    local other = tonumber(found[i + 1]) or rating
    players[#players + 1] = {player = found[i], difference = other - rating}
  end
  return reach, in_reach, players
end
