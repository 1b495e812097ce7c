--- Reads publications from an offset on, or backwards from it.
--- @use clock
--- @key    stream      stream[stream]            the newest publications; an entry's id is its offset
--- @key    meta        hash[meta]                the epoch 'e' and the newest offset 's'
--- @arg    since       count                     the offset to begin at; backwards 0 is the newest
--- @arg    limit       count[1..100]             most publications
--- @arg    meta_ttl    duration[1s..365d]        how long epoch and offset are kept
--- @arg    fresh_epoch text[32]                  the epoch, if a new one begins
--- @arg    backwards   bool?                     whether to read from newer to older ones
--- @result epoch       text[32]                  the epoch
--- @result newest      count                     the newest offset
--- @result found       group[0..100]             publications
--- @result found.offset count                    its offset
--- @result found.payload bytes[16384]            what was published
local function read(stream, meta, since, limit, meta_ttl_us, fresh_epoch, backwards)
  local known = redis.call('HMGET', meta, 'e', 's')
  local epoch, newest = known[1], tonumber(known[2]) or 0
  if not epoch then
    epoch = fresh_epoch
    redis.call('DEL', stream)
    redis.call('HSET', meta, 'e', epoch, 's', 0)
  end
  clock.extend(meta, meta_ttl_us)
  local entries
  if not backwards then
    entries = redis.call('XRANGE', stream, since, '+', 'COUNT', limit)
  elseif since > 0 then
    entries = redis.call('XREVRANGE', stream, since, '-', 'COUNT', limit)
  else
    entries = redis.call('XREVRANGE', stream, newest, '-', 'COUNT', limit)
  end
  local rows = {}
  for i = 1, #entries do
    local id, fields = entries[i][1], entries[i][2]
    rows[i] = {offset = tonumber(string.match(id, '^%d+')) or 0, payload = fields[2]}
  end
  return epoch, newest, rows
end
