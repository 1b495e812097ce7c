--- Lists the best players, and writes nothing.
--- @flags  no-writes
--- @key    scores          zset[scores]       the best score of each player
--- @arg    skip            count[0..100000]=0 players to skip, for further pages
--- @arg    most            count[1..100]=10   most players to list
--- @result players         group              the players, best first; those with equal scores by name, descending
--- @result players.player  text[64]           the player
--- @result players.score   float              the best score
--- @result players.rank    count[1..100000]   1 for the best player, and 1 + those with more points
local function top(scores, skip, most)
  local found = redis.call('ZREVRANGE', scores, skip, skip + most - 1, 'WITHSCORES')
  local rows, rank = {}, 1
  for i = 1, most do
    local player, text = found[2 * i - 1], found[2 * i]
    if player and text then
      local score = tonumber(text) or 0
      if i == 1 then
        rank = redis.call('ZCOUNT', scores, '(' .. text, '+inf') + 1
      elseif score ~= rows[i - 1].score then
        rank = skip + i
      end
      rows[i] = {player = player, score = score, rank = rank}
    end
  end
  return rows
end
