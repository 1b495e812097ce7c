--- Submits a player's score, which counts if it is the player's best.
--- @use clock
--- @key    scores     zset[scores]                   the best score of each player
--- @arg    player     text[64]                       the player
--- @arg    score      float[-1000000000..1000000000] the score; more is better
--- @arg    keep       duration[1m..3650d]=366d       how long the board is kept without a further submission, at least
--- @result improved   bool                           whether it is the player's first or best score
--- @result rank       count[0..100000]               1 for the best player, and 1 + those with more points; 0 if not among the best 100,000
--- @result best       float                          the player's best score: 99.5
local function submit(scores, player, score, keep_us)
  local most_players = 100000
  local before = tonumber(redis.call('ZSCORE', scores, player))
  local best = score
  if before and before >= score then
    best = before
  else
    redis.call('ZADD', scores, score, player)
    redis.call('ZREMRANGEBYRANK', scores, '0', 0 - most_players - 1)
  end
  clock.extend(scores, keep_us)
  local rank = 0
  if redis.call('ZSCORE', scores, player) then
    rank = redis.call('ZCOUNT', scores, '(' .. string.format('%.17g', best), '+inf') + 1
  end
  return best == score and before ~= score, rank, best
end
