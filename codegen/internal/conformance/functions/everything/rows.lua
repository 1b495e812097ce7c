--- Answers with its own rows, of two groups.
--- @key    bucket         string[state]            the subject's key
--- @arg    before         count                    an argument before the groups
--- @arg    limits         group[1..16]             limits, each with three keys of its own
--- @arg    limits.name    text[32]                 the limit's name; it ends its keys
--- @key    limits.log     list[log:<name>]         the limit's log
--- @key    limits.seen    zset[seen:<name>]        the limit's receipts
--- @arg    limits.form    enum(sum,last)           a word that names a key
--- @key    limits.state   any[<form>:<name>]       a key whose type and suffix go by form
--- @arg    limits.kind    enum(log,bucket)=log     a word with a default
--- @arg    limits.window  duration[1us..1d]        a duration
--- @arg    limits.cost    count[0..9]=1            a number whose zero is legal
--- @arg    tiers          group[0..4]              tiers; none is fine
--- @arg    tiers.block    duration[1s..1d]?        a duration that may be absent
--- @arg    after          text[16]?                an argument behind the groups
--- @result total          count                    how many rows came in
--- @result limits         group                    a row for each limit
--- @result limits.name    text                     its name
--- @result limits.log     text                     its first key
--- @result limits.seen    text                     its second key
--- @result limits.state   text                     its third key
--- @result limits.kind    enum(log,bucket)         its kind
--- @result limits.window  duration                 its window
--- @result limits.cost    count                    its cost
--- @result limits.ok      bool                     true
--- @result tiers          group                    a row for each tier
--- @result tiers.block    duration                 its block, 0 when absent
--- @result after          text                     after, empty when absent
local function rows(bucket, before, limits, limits_log, limits_seen, limits_state, tiers, after)
  local out = {}
  for i = 1, #limits do
    local row = limits[i]
    out[i] = {
      name = row.name, log = limits_log[i], seen = limits_seen[i], state = limits_state[i], kind = row.kind, window_us = row.window_us, cost = row.cost, ok = true,
    }
  end
  local blocks = {}
  for i = 1, #tiers do
    blocks[i] = {block_us = tiers[i].block_us or 0}
  end
  return before + #limits + #tiers, out, blocks, after or bucket
end
