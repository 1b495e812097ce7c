--- What is known of a subject in one string: when attempts were made, when blocks began, what tiers have answered with one.
---
--- Until there is a block it is the times of the attempts. Then a head stands before them: 's', the strikes, '.', and what the
--- tiers have answered: '2@<time>' says that tier 2 has answered the attempts up to that time, '2!' that it has started the
--- last block. A tier counts anew once its block has ended: what it has answered is not held against the subject twice,
--- though other tiers go on counting it.
--- @use clock refusal packed_times
--- @lib attempt_log
--- @state attempt_log 1 times of attempts, 16 digits each, oldest first, behind 's<times of strikes>.' and what tiers have answered: '2@<time>', '2!'
local attempt_log = {}

local function unreadable(key)
  return nil, refusal.state(key, 'holds no times of attempts')
end

-- The head of a text: the strikes; by tier the time up to which it has answered; the tiers that started the last block; and
-- where the attempts begin. Or nil.
local function read_head(text)
  local strikes = string.match(text, '^s(%d*)%.')
  if not strikes or #strikes % 16 > 0 then
    return nil
  end
  local answered_us, last, from = {}, {}, #strikes + 3
  local tier, sign = string.match(text, '^([1-8])([@!])', from)
  while tier do
    local number = tonumber(tier) or 0
    if sign == '!' then
      last[#last + 1] = number
      from = from + 2
    else
      answered_us[number] = clock.parse_us(string.sub(text, from + 2, from + 17))
      if not answered_us[number] then
        return nil
      end
      from = from + 18
    end
    tier, sign = string.match(text, '^([1-8])([@!])', from)
  end
  return strikes, answered_us, last, from
end

-- Reads what a call at clock_us sees that looks back longest_us at most. Returns the times of the attempts, how many these
-- are, and the oldest; the later of the clock and the newest; what tiers have answered, by tier, or nil; and the times of
-- the strikes. Or nil and a refusal.
-- A newest attempt that is further ahead than longest_us is a broken clock's: then there is none.
function attempt_log.read(key, clock_us, longest_us, blocked)
  local text = redis.call('GET', key)
  if not text then
    return '', 0, clock_us, clock_us, nil, ''
  end
  local times, strikes, answered_us, last = text, '', nil, nil
  if string.byte(text) == 115 then -- 's'
    local struck, answered, started, from = read_head(text)
    if not struck then
      return unreadable(key)
    end
    times = string.sub(text, from)
    strikes = struck
    answered_us = answered
    last = started
    if times == '' and strikes ~= '' then
      return '', 0, clock_us, clock_us, nil, strikes
    end
  end
  local oldest_us = clock.parse_us(string.sub(times, 1, 16))
  local newest_us = clock.parse_us(string.sub(times, -16))
  if not oldest_us or not newest_us or #times % 16 > 0 then
    return unreadable(key)
  end
  if newest_us - clock_us > longest_us then
    return '', 0, clock_us, clock_us, nil, strikes
  end
  local now_us = clock_us
  if newest_us > clock_us then
    now_us = newest_us
  end
  if last and last[1] and not blocked then
    for i = 1, #last do
      answered_us[last[i]] = newest_us
    end
    -- What comes after has to be later, also in the same microsecond.
    now_us = math.max(now_us, newest_us + 1)
  end
  return times, math.floor(#times / 16), oldest_us, now_us, answered_us, strikes
end

-- How many of the attempts are later than horizon_us and not answered by the tier; nil and a refusal when it reads one that
-- is no time.
function attempt_log.count(key, times, length, oldest_us, horizon_us, answered_us, tier)
  if answered_us and answered_us[tier] and answered_us[tier] > horizon_us then
    horizon_us = answered_us[tier]
  end
  if oldest_us > horizon_us then
    return length
  end
  local count = packed_times.count_after(times, length, horizon_us)
  if not count then
    return unreadable(key)
  end
  return count
end

-- The attempts as they are stored, with a head if there is anything to tell in it. started lists the tiers that the last of them
-- made start a block, as '1!3!'; what was answered before horizon_us, or stands before no other attempt, does not matter any more.
function attempt_log.text(times, strikes, started, answered_us, horizon_us)
  local head = started
  if answered_us and #times > 16 then
    for tier = 8, 1, -1 do
      local up_to_us = answered_us[tier] or 0
      if up_to_us > 0 and up_to_us > horizon_us then
        head = string.format('%d@%s', tier, packed_times.text(up_to_us)) .. head
      end
    end
  end
  if head == '' and strikes == '' then
    return times
  end
  return 's' .. strikes .. '.' .. head .. times
end

-- Forgets the attempts, and returns whether there were any. The strikes stay, until the key expires as it would have.
function attempt_log.forget(key)
  local text = redis.call('GET', key)
  if not text then
    return false
  end
  if string.byte(text) ~= 115 then -- 's'
    return redis.call('DEL', key) > 0
  end
  local strikes, _, _, from = read_head(text)
  if not strikes then
    return unreadable(key)
  end
  if strikes == '' then
    return redis.call('DEL', key) > 0
  end
  if #text < from then
    return false
  end
  redis.call('SET', key, 's' .. strikes .. '.', 'KEEPTTL') -- rlfunc:ignore missing-ttl what is stored expires with what it was taken from
  return true
end

return attempt_log
