--- Reads the keys of two groups.
--- @flags  no-writes
--- @key    bucket         string[state]        the subject's key
--- @key    second         hash[more]           a derived key
--- @arg    logs           group[0..4]          rows with two keys
--- @arg    logs.name      text[32]             the row's name
--- @key    logs.list      list[list:<name>]    a list
--- @key    logs.seen      zset[seen:<name>]    the list's receipts
--- @arg    tables         group[0..4]          rows with one key
--- @arg    tables.name    text[32]             the row's name
--- @key    tables.hash    hash[hash:<name>]    a hash
--- @result sizes          group                a row for each log
--- @result sizes.size     count                entries of its list
--- @result sizes.seen     count                entries of its receipts
--- @result total          count                fields of all tables, the bucket's bytes and the second's fields
local function groups(bucket, second, logs, logs_list, logs_seen, tables, tables_hash)
  local out, total = {}, redis.call('STRLEN', bucket) + redis.call('HLEN', second)
  for i = 1, #logs do
    out[i] = {size = redis.call('LLEN', logs_list[i]), seen = redis.call('ZCARD', logs_seen[i])}
  end
  for i = 1, #tables do
    total = total + redis.call('HLEN', tables_hash[i])
  end
  return out, total
end
