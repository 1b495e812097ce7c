--- Removes a player from the board.
--- @key    scores     zset[scores]  the best score of each player
--- @arg    player     text[64]      the player
--- @result removed    bool          whether the player had a score
local function remove(scores, player)
  return redis.call('ZREM', scores, player) == 1
end
