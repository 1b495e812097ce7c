--- A quota as a kind of limit: what was used of each period of the calendar, in a hash that expires with the last one.
---
--- A period is known by where it starts and ends, so callers whose calendars differ, such as those of two time zones, have a count each.
--- The server's clock decides which period it is. If it is set back into an earlier one, that one's count holds.
--- @use calendar_period clock refusal whole_number
--- @lib period_count
--- @state quota 1 what was used, by the period's '<start> <end>' in microseconds: '7'
local period_count = {redis_type = 'hash', needs_clock = true, weighted = true}

-- Reads into the answer which of the row's periods it is and what was used of it. Returns nothing or a refusal.
local function read(row, key, now_us, answer)
  local start_us, end_us = calendar_period.at(row, now_us)
  if now_us < row.previous_us then
    return refusal.argument("previous must not be after the server's time: the caller's clock is more than a period ahead of it")
  elseif not start_us then
    return refusal.argument("after must be after the server's time: the caller's clock is more than a period behind it")
  end
  answer.period = string.format('%d %d', start_us, end_us)
  answer.end_us = end_us
  local stored = redis.call('HGET', key, answer.period)
  answer.used = stored and whole_number.parse(stored) or 0
  if stored and answer.used == 0 then
    return refusal.state(key, 'holds no use of periods')
  end
end

function period_count.check(row, key, cost, now_us, answer)
  local failure = read(row, key, now_us, answer)
  if failure then
    return failure
  end
  answer.allowed = answer.used + cost <= row.limit
  answer.remaining = math.max(row.limit - answer.used, 0)
  answer.reset_after_us = answer.used > 0 and answer.end_us - now_us or 0
  answer.retry_after_us = answer.allowed and 0 or answer.end_us - now_us
end

-- Forgets the periods that had ended before the row's previous one started: neither a caller's clock nor the server's will be in them.
local function forget(row, key)
  -- rlfunc:ignore key-loop a period or two for each calendar that callers use
  local periods = redis.call('HKEYS', key)
  for i = 1, #periods do
    local end_us = tonumber(string.match(periods[i], '^%d+ (%d+)$'))
    if end_us and end_us <= row.previous_us then
      redis.call('HDEL', key, periods[i])
    end
  end
end

function period_count.charge(row, key, cost, now_us, answer)
  redis.call('HINCRBY', key, answer.period, whole_number.text(cost))
  if answer.used == 0 then
    forget(row, key)
    clock.extend_until(key, answer.end_us)
  end
  answer.reset_after_us = answer.end_us - now_us
end

function period_count.refund(row, key, cost, now_us)
  local answer = {}
  if read(row, key, now_us, answer) or answer.used == 0 then
    return false
  elseif answer.used <= cost then
    redis.call('HDEL', key, answer.period)
  else
    redis.call('HINCRBY', key, answer.period, string.format('%d', -cost))
  end
  return true
end

return period_count
