--- Decides a request: all of it is allowed and charged, or none is.
---
--- A request may have several subjects. Attempts, and the block that they start, are those of the call's subject; each limit may be
--- another's, or all subjects' together, and so may the receipt, the budgets and the challenge. A block of any subject that holds
--- refuses whatever else, and nothing is recorded. A receipt that was admitted less than dedup ago is allowed: nothing is charged,
--- consumed or recorded. Else every limit, the budgets and the challenge have to allow; then each is charged, as ratelimit.check,
--- cost.reserve and challenge.consume do. With repeats, so many repeats of a receipt pass for nothing, as attempts, and one more is a
--- new request. With tiers the call is an attempt as of abuse.attempt, and the threshold-th one is refused. A refused call writes
--- nothing but the attempt.
---
--- A shadow limit never refuses; it is charged where it allows. The tick of retry_after is that of whatever waits longest. Of several
--- reasons the answer has the first in reason's list.
--- @use clock block_state receipt_set limit limit_set admission tier_set
--- @key    bucket         string[block]            the subject's block: it holds while the key is there
--- @key    receipts       zset[checked]?receipt.of the receipts that were admitted, by time
--- @key    attempts       string[attempts]?tiers   when attempts were made and blocks began
--- @key    pages          zset[attempt_pages]?tiers older attempts, where there are more than 12
--- @key    challenges     hash[challenges]?challenge.of the subject's challenges by token
--- @key    charges        hash[charges]?budgets.of the subject's charges
--- @key    blocks         string[block][0..16]     the blocks of the request's other subjects
--- @arg    limits         packed(limit)[0..16]     limits, each of a subject of its own if need be
--- @arg    weight         count[1..1000000]=1      what the request weighs: each limit's cost is multiplied by it, but that of a sliding_log
--- @arg    receipt        text[224]?               the request's own ID; without one each call counts
--- @arg    dedup          duration[1us..3650d]=10s how long a receipt is known
--- @arg    repeats        count[0..8]?             how many repeats of a receipt pass for nothing; any number when absent
--- @arg    budgets        packed[0..16]            budgets, as of cost.reserve
--- @arg    budgets.budget micros[0..1000000000000000] most that may be spent in a window
--- @arg    budgets.window duration[1us..3650d]     length of the window
--- @arg    estimate       micros[0..1000000000000000]=0 what the request will cost, as far as one knows
--- @arg    hold           duration[1us..3650d]?    how long the estimate counts if it is not settled; each window's length when absent
--- @arg    penalty        duration[1us..3650d]?    how long nothing is reserved once a settlement has exceeded a budget
--- @arg    reservation    text[64]?                a fresh ID for the reservation, where there are budgets and no receipt
--- @arg    tiers          packed[0..8]             what is too often, as of abuse.attempt
--- @arg    tiers.threshold count[1..10000]         the attempt that is refused and starts the block
--- @arg    tiers.window   duration[1us..3650d]     time in which attempts are counted
--- @arg    tiers.block    duration[1ms..3650d]     how long the block lasts, rounded up to a millisecond
--- @arg    escalation     packed[0..8]             how long the first, second, ... block lasts; none: as long as the tier says
--- @arg    escalation.block duration[1ms..3650d]   how long, rounded up to a millisecond
--- @arg    strike_memory  duration[1ms..3650d]=30d how long a block is remembered, from its beginning
--- @arg    count_refused  bool?                    whether only calls that all else refuses are attempts
--- @arg    challenge      text[128]?               a challenge to consume; one that can not be consumed refuses
--- @arg    challenge_required bool?                whether a call without a challenge is refused
--- @arg    payload        text[1024]?              what the challenge was issued for
--- @result allowed        bool                     whether the request may pass
--- @result duplicate      bool                     whether its receipt was known, so that nothing was taken
--- @result reason         enum(none,blocked,tier,limit,penalty,budget,too_large,challenge) why not; none when allowed
--- @result tier           count[0..8]              the tier that started the block; 0 when none did, and when blocked by hand
--- @result blocked        count[0..16]             which subject's block holds, by its place in blocks; 0 for the call's, and when none does
--- @result strikes        count[0..64]             blocks within the strike memory, one that starts now included; 0 without tiers and when blocked
--- @result retry_after    duration                 the longest wait of all that refuse; no wait helps a challenge or what is too large: they count 0
--- @result at             time                     when it was decided, for give_back; the epoch where no limit needed the clock
--- @result challenge      enum(none,absent,consumed,unused,replayed,expired_or_unknown,mismatch) what became of it; unused: something else refused; none: not looked at
--- @result reservation    text[0..256]             to settle or cancel by: <receipt>@<time of its admission>, or the given one; empty when nothing is reserved
--- @result limits         group(limit)             an answer for each limit, in the order of the call; none when blocked
--- @result budgets        group                    an answer for each budget; none when blocked
--- @result budgets.allowed bool                    whether the estimate fits this budget, or is in it
--- @result budgets.spent  micros                   what is spent in the window after the call: 300000 of a budget of 1000000
--- @result budgets.remaining micros                what is left of the budget: 700000; 0 when it is exceeded
--- @result budgets.retry_after duration            wait until the estimate fits this budget; 0 when it does, and when it never will
--- @result tiers          group                    an answer for each tier; none when blocked
--- @result tiers.count    count[0..1000000]        attempts in the tier's window, with this one if it was recorded: 3
--- @result tiers.remaining count[0..10000]         attempts that may still be made: 1 when 3 are counted and the 5th is refused
--- @error  RLARG                                   limits contradict each other, budgets lack an ID, or more than 2^53 - 1 micros would be kept
--- @error  RLSTATE                                 a key holds what its library does not write
local function admit(bucket, receipts, attempts, pages, challenges, charges, blocks, limits, limits_state, weight, receipt, dedup_us, repeats,
    budgets, estimate_micros, hold_us, penalty_us, reservation, tiers, escalation, strike_memory_us, count_refused, challenge, challenge_required,
    payload)
  local left_ms, blocked_by, place = block_state.read_any(bucket, blocks)
  if not left_ms then
    return nil, blocked_by
  elseif left_ms > 0 then
    return false, false, 'blocked', blocked_by, place, 0, left_ms * 1000, 0, 'none', '', {}, {}, {}
  end
  if #budgets + #tiers == 0 and not (receipt or challenge or challenge_required) then
    local rows, refused, wait_us, _, now_us = limit_set.judge(limits, limits_state, weight, false, true)
    if not rows then
      return nil, refused
    elseif refused > 0 then
      return false, false, 'limit', 0, 0, 0, wait_us, 0, 'none', '', rows, limit_set.none, limit_set.none -- rlfunc:ignore result-type a refusal is not in rows
    end
    return true, false, 'none', 0, 0, 0, 0, now_us, 'none', '', rows, limit_set.none, limit_set.none -- rlfunc:ignore result-type as above
  end
  local clock_us = clock.now_us()
  local known, mark, spent = receipt_set.look(receipts, receipt, clock_us, dedup_us, repeats)
  local asked, failure = admission.judge(receipts, receipt, known, limits, limits_state, weight, charges, reservation, estimate_micros, budgets,
    challenges, challenge, challenge_required, payload, clock_us)
  if not asked then
    return nil, failure
  end
  local rows, costs, reason, outcome = asked.rows, asked.cost.rows, asked.reason, asked.outcome
  local counted = #tiers > 0 and (not known or mark ~= nil) and (asked.own or not count_refused)
  local tried, no_attempts = tier_set.judge(attempts, pages, tiers, strike_memory_us, clock_us, false, counted)
  if not tried then
    return nil, no_attempts -- rlfunc:ignore result-nil tier_set.judge returns nil with a refusal only
  end
  local admitted = reason == 'none' and tried.tier == 0
  if admitted then
    failure = admission.take(asked, receipts, receipt, known, dedup_us, counted, limits, limits_state, weight, charges, estimate_micros, hold_us,
      penalty_us, challenges, challenge, clock_us)
    if failure then
      return nil, failure
    end
    receipt_set.passed(receipts, receipt, mark, spent)
  end
  local wait_us = asked.wait_us
  if counted and attempts and pages then
    wait_us = math.max(wait_us, tier_set.record(bucket, attempts, pages, tiers, tried, escalation, clock_us))
  end
  if admitted then
    return true, known, 'none', 0, 0, tried.strikes, 0, clock_us, outcome, asked.id, rows, costs, tried.rows
  end
  if tried.tier > 0 then
    reason = 'tier'
  end
  if outcome == 'consumed' then
    outcome = 'unused'
  end
  return false, known, reason, tried.tier, 0, tried.strikes, wait_us, 0, outcome, '', rows, costs, tried.rows
end
