--- Decides a request that only has limits: all of them are charged, or none.
---
--- It answers as admit does without a receipt, budgets, attempts and a challenge, in fewer words and less time. An active block of any subject
--- refuses the call. A call whose holder release has marked is an error, and charges nothing.
--- @use refusal block_state limit limit_rows
--- @key    bucket         string[block]            the subject's block: active while the key exists
--- @key    left           string[left:<holder>]?holder whether release has marked the holder
--- @key    blocks         string[block][0..16]     blocks of the request's other subjects
--- @arg    limits         group(limit)[0..16]     limits, each optionally of its own subject
--- @arg    weight         count[1..1000000000000]=1 multiplies every limit's cost except that of a sliding_log
--- @arg    holder         text[64]?                holder of the places, unique to the call: guard's have 26 characters
--- @result allowed        bool                     whether the request may pass
--- @result reason         enum(none,blocked,limit) why it is refused; none when allowed
--- @result tier           count[0..8]              tier that started the block; 0 without one, and when blocked manually
--- @result refused        count[0..16]             whose block refuses: the subject's position in blocks; 0 for the call's subject, and without one
--- @result retry_after    duration                 longest wait of all refusals; 0 when allowed
--- @result at             time                     when it was decided, for refund; the epoch when refused, and if nothing needed the clock
--- @result limits         group(limit)             one result per limit, in the order of the call; empty when blocked
--- @error  RLARG                                   limits contradict each other, or the holder has left
--- @error  RLSTATE                                 a key holds data that its library did not write
local function check(bucket, left, blocks, limits, limits_state, weight, holder)
  if left and redis.call('GET', left) then
    return nil, refusal.argument('holder must be one that release has not marked')
  end
  local left_ms, blocked_by, place = block_state.read_any(bucket, nil, blocks)
  if not left_ms then
    return nil, blocked_by
  elseif left_ms > 0 then
    return false, 'blocked', blocked_by, place, left_ms * 1000, 0, limit_rows.none
  end
  local now_us = limit_rows.now_us(limits)
  local rows, refused, wait_us = limit_rows.check(limits, limits_state, weight, nil, now_us, holder)
  if not rows then
    return nil, refused
  elseif refused > 0 then
    return false, 'limit', 0, 0, wait_us, 0, rows
  end
  limit_rows.charge(limits, limits_state, rows, now_us)
  return true, 'none', 0, 0, 0, now_us, rows
end
