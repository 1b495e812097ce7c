--- Decides a request: everything is allowed and charged, or nothing is.
---
--- Attempts, and the block that they start, belong to the call's subject; each limit, the receipt, the budgets and the challenge may belong to
--- another, or to all subjects together. An active block of any of them refuses the call, and nothing is recorded. Otherwise every limit, the
--- budgets and the challenge must allow; then each is charged, as ratelimit.check, cost.reserve and challenge.consume do. What is
--- unreserved must fit its budgets, but is not charged. With tiers the call is an attempt: the threshold-th is refused. Arguments stand in
--- groups, which a call may leave out: limits, receipt, budgets, attempts, challenge.
---
--- A receipt that was admitted less than dedup ago has paid: a repeat pays for more weight than before, and reserves, under its own name, what
--- its estimate exceeds those of before. It pays global limits again, and holds places of its own. With repeats, that many repeats pass, as
--- attempts, and the next one is a new request.
---
--- A limit of kind concurrency charges places, which renew keeps and release or refund frees. A shadow limit never refuses; it is charged where
--- it allows. A call whose holder release has marked is an error, and charges nothing.
--- @use clock refusal block_state receipts limit request_parts attempt_set
--- @key    bucket         string[block]            the subject's block: active while the key exists
--- @key    known          string[receipt:<receipt>]?receipt.of the receipt, if it was admitted
--- @key    attempts       zset[attempts:<block>]?tiers when attempts were made
--- @key    strikes        list[strikes:<block>]?tiers when blocks began that tiers started
--- @key    challenges     hash[challenges]?challenge.of the subject's challenges, by token
--- @key    left           string[left:<holder>]?holder whether release has marked the holder
--- @key    record         string[reservation:<reservation>]?reservation what the call has reserved
--- @key    started        string[block:<block>]?block the subject's block by that name, which tiers start
--- @key    blocks         string[block][0..16]     blocks of the request's other subjects
--- @arg    limits         group(limit)[0..16]     limits, each optionally of its own subject
--- @arg    weight         count[1..1000000000000]=1 multiplies every limit's cost except that of a sliding_log
--- @arg    holder         text[64]?                holder of the places, unique to the call: guard's have 26 characters
--- @arg    receipt        text[224]?               the request's own ID; without one, every call counts
--- @arg    dedup          duration[1ms..3650d]=10s how long a receipt is known
--- @arg    repeats        count[0..8]?             how many repeats of a receipt pass; any number when omitted
--- @arg    budgets        group(budget)[0..16]    as in cost.reserve, each optionally of its own subject
--- @arg    estimate       micros[0..1000000000000000]=0 expected cost of the request, in money
--- @arg    units          group(unit_amount)[0..4] expected cost of the request in other units than money; 0 in those that are omitted
--- @arg    hold           duration[1ms..3650d]?    how long an unsettled estimate counts; each window's length when omitted
--- @arg    reservation    text[64]?                unique ID for the reservation of this call, to settle by: guard's have 26 characters
--- @arg    block          text[32]?                names the block that tiers start, with its own attempts; it refuses calls with this name only. Without one it is that of all calls
--- @arg    tiers          group[0..8]             how many attempts are too many, as in abuse.attempt
--- @arg    tiers.threshold count[1..10000]         attempt that is refused and starts the block
--- @arg    tiers.window   duration[1ms..3650d]     time in which attempts are counted
--- @arg    tiers.block    duration[1ms..3650d]     how long the block lasts, rounded up to a millisecond
--- @arg    escalation     group[0..8]             how long the first, second, ... block lasts; the tier's own duration when empty
--- @arg    escalation.block duration[1ms..3650d]   how long that block lasts, rounded up to a millisecond
--- @arg    strike_memory  duration[1ms..3650d]=30d how long a block counts as a strike, from its beginning
--- @arg    count_refused  bool?                    whether only refused calls are attempts
--- @arg    challenge      text[128]?               challenge to consume; the call is refused if that is impossible
--- @arg    challenge_required bool?                whether a call without a challenge is refused
--- @arg    payload        text[1024]?              what the challenge was issued for
--- @must   #budgets == 0 or reservation: a reservation is settled by its name
--- @result allowed        bool                     whether the request may pass
--- @result duplicate      bool                     whether its receipt was known, so that it paid only what it costs more than before, and limits that count repeats
--- @result reason         enum(none,blocked,tier,limit,penalty,budget,too_large,challenge) why it is refused: the first of these if several do; none when allowed
--- @result tier           count[0..8]              tier that started the block; 0 when none did, and when blocked manually
--- @result refused        count[0..16]             whose block or which budget refuses: the subject's position in blocks, or with reason penalty, budget and too_large
---     the budget's; 0 for the call's subject, and for any other reason
--- @result strikes        count[0..64]             blocks within the strike memory, including one that starts now; 0 without tiers and when blocked
--- @result retry_after    duration                 longest wait of all refusals; a failed challenge and a too large estimate count 0, because no wait helps
--- @result at             time                     when it was decided, for refund; the epoch when refused
--- @result challenge      enum(none,absent,consumed,unused,replayed,expired_or_unknown,mismatch) outcome; unused: something else refused; none: not checked
--- @result limits         group(limit)             one result per limit, in the order of the call; empty when blocked
--- @result budgets        group(budget)            one result per budget, in the order of the call; empty when blocked
--- @result tiers          group                    one result per tier; empty when blocked
--- @result tiers.count    count[0..1000000]        attempts in the tier's window, including this one if it was recorded: 3
--- @result tiers.remaining count[0..10000]         attempts left before the block: 1 when 3 are counted and the 5th is refused
--- @records the attempt that tiers count, and the block that it starts
--- @error  RLARG                                   limits contradict each other, budgets lack an ID, the holder has left, or rows would be one budget
--- @error  RLSTATE                                 a key holds data that its library did not write
local function admit(bucket, known, attempts, strikes, challenges, left, record, started, blocks, limits, limits_state, weight, holder, receipt, dedup_us, repeats,
    budgets, budgets_spent, estimate_micros, units, hold_us, reservation, block, tiers, escalation, strike_memory_us, count_refused, challenge,
    challenge_required, payload)
  if left and redis.call('GET', left) then
    return nil, refusal.argument('holder must be one that release has not marked')
  end
  local left_ms, blocked_by, place = block_state.read_any(bucket, started, blocks)
  if not left_ms then
    return nil, blocked_by
  elseif left_ms > 0 then
    return false, false, 'blocked', blocked_by, place, 0, left_ms * 1000, 0, 'none', {}, {}, {}
  end
  local clock_us = clock.now_us()
  local repeated, unreadable = receipts.find(known, clock_us, dedup_us, repeats)
  if repeated == nil then
    return nil, unreadable
  end
  local request = {
    now_us = clock_us, limits = limits, states = limits_state, weight = weight, holder = holder, known = known, repeated = repeated, repeats = repeats,
    dedup_us = dedup_us, challenges = challenges, challenge = challenge, challenge_required = challenge_required, payload = payload,
    key = record, budgets = budgets, keys = budgets_spent, amount_micros = estimate_micros, units = units, hold_us = hold_us,
  }
  local failure = request_parts.check(request)
  if failure then
    return nil, failure
  end
  local reason, outcome, wait_us, cost = request.reason, request.outcome, request.wait_us, request.cost
  local counted = #tiers > 0 and (not repeated or repeats ~= nil) and (request.refused_beyond_global or not count_refused)
  local tried_tiers, no_attempts = attempt_set.check(attempts, strikes, tiers, strike_memory_us, clock_us, false, counted)
  if not tried_tiers then
    return nil, no_attempts
  end
  reason = tried_tiers.tier > 0 and 'tier' or reason
  if reason == 'none' then
    request_parts.charge(request, counted)
  end
  if counted then
    wait_us = math.max(wait_us, attempt_set.record(tried_tiers, started or bucket, escalation))
  end
  if reason == 'none' then
    return true, repeated ~= false, 'none', 0, 0, tried_tiers.strikes, 0, clock_us, outcome, request.rows, cost.all, tried_tiers.rows
  end
  outcome = outcome == 'consumed' and 'unused' or outcome
  return false, repeated ~= false, reason, tried_tiers.tier, reason == cost.reason and cost.place or 0, tried_tiers.strikes, wait_us, 0, outcome, request.rows, cost.all, tried_tiers.rows
end
