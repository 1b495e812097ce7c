--- Returns a player's rank; writes nothing.
--- @flags  no-writes
--- @key    scores     zset[scores]       the best score of each player
--- @arg    player     text[64]           the player
--- @result found      bool               whether the player has a score
--- @result rank       count[0..100000]   1 for the best player, and 1 + those with more points; 0 if not found
--- @result players    count[0..100000]   players with a score: 1200
--- @result best       float              the player's best score: 99.5; 0 if not found
local function rank(scores, player)
  local players = redis.call('ZCARD', scores)
  local best = tonumber(redis.call('ZSCORE', scores, player))
  if not best then
    return false, 0, players, 0
  end
  return true, redis.call('ZCOUNT', scores, '(' .. string.format('%.17g', best), '+inf') + 1, players, best
end
