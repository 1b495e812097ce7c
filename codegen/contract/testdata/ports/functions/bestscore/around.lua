--- Lists the players around one, best first; writes nothing.
--- @flags  no-writes
--- @key    board   zset[board]          best score of each player
--- @arg    player  text[64]             the player
--- @arg    better  enum(higher,lower)   which score is better
--- @arg    beside  count[1..25]=5       players on either side
--- @result found   bool                 whether the player has a score
--- @result players group[0..51]         the players
--- @result players.name text[64]        the player
--- @result players.rank count           its rank, 0 for the best
--- @result players.score float          its best score
local function around(board, player, better, beside)
  local rank
  if better == 'higher' then
    rank = redis.call('ZREVRANK', board, player)
  else
    rank = redis.call('ZRANK', board, player)
  end
  if not rank then
    return false, {}
  end
  local first = math.max(rank - beside, 0)
  local flat
  if better == 'higher' then
    flat = redis.call('ZREVRANGE', board, first, rank + beside, 'WITHSCORES')
  else
    flat = redis.call('ZRANGE', board, first, rank + beside, 'WITHSCORES')
  end
  local rows = {}
  for i = 1, #flat, 2 do
    table.insert(rows, {name = flat[i], rank = first + #rows, score = tonumber(flat[i + 1]) or 0})
  end
  return true, rows
end
