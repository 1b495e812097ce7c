--- Submits a score, which counts if it is better than the player's others.
--- @use clock
--- @key    board    zset[board]            best score of each player
--- @key    log      list[log:<player>]     improvements of the player as 'score|time', the newest first, at most 20
--- @key    times    hash[improved]         how often each player has improved
--- @arg    player   text[64]               the player
--- @arg    score    float[-1000000000..1000000000] the score
--- @arg    better   enum(higher,lower)     which score is better
--- @arg    keep     duration[1h..3650d]    how long the board is kept without an improvement
--- @result improved bool                   whether it is the player's best score
--- @result best     float                  the best score
--- @result rank     count                  the player's rank, 0 for the best
local function submit(board, log, times, player, score, better, keep_us)
  local before = tonumber(redis.call('ZSCORE', board, player))
  local best, improved = score, true
  if before and (better == 'higher' and before >= score or better == 'lower' and before <= score) then
    best, improved = before, false
  end
  if improved then
    redis.call('ZADD', board, score, player)
    clock.extend(board, keep_us)
    redis.call('HINCRBY', times, player, 1)
    clock.extend(times, keep_us)
    redis.call('LPUSH', log, string.format('%.17g|%.0f', score, clock.now_us()))
    redis.call('LTRIM', log, 0, 19)
    clock.extend(log, keep_us)
  end
  local rank = redis.call(better == 'higher' and 'ZREVRANK' or 'ZRANK', board, player) or 0
  return improved, best, rank
end
