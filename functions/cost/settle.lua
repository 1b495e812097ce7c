--- Replaces a receipt's estimate by what was really spent, once, however often it is called.
---
--- What is spent is recorded and never refused, also past the budget. A charge keeps the time of its reservation; one that
--- counts no more, as its hold or its window has ended, and one that nobody reserved, are charged as of now, so that
--- nothing is lost. What exceeds a budget starts the penalty that the bucket's last reservation asked for.
--- @use clock spending charging budget
--- @key    bucket      hash[charges]       the subject's charges
--- @arg    receipt     text[256]           the reservation's receipt
--- @arg    actual      micros[0..1000000000000000] what was really spent
--- @arg    limits      group[0..16]        budgets to tell about and to hold to; when absent, those of the last calls, untold
--- @arg    limits.budget micros[0..1000000000000000] most that may be spent in a window
--- @arg    limits.window duration[1us..3650d] length of the window
--- @result outcome     enum(settled,repeated,late,unknown) what was done. repeated: nothing, as it was settled before. late:
---     charged now, as the estimate counted no more. unknown: charged now, as nothing is known of the receipt
--- @result charged     micros              what the receipt costs now: actual, or what it was settled with before
--- @result exceeded    bool                whether more than a budget is spent now
--- @result penalty     duration            how long nothing is reserved from now on; 0 when no penalty runs
--- @result limits      group               one row for each limit given
--- @result limits.spent micros             what is spent in the window now: 1200000 of a budget of 1000000
--- @result limits.remaining micros         what is left of the budget; 0 when it is exceeded
--- @error  RLARG                           more than 2^53 - 1 micros would be kept of the subject
--- @error  RLSTATE                         a key holds what is no charge or no state of charges
local function settle(bucket, receipt, actual_micros, limits)
  local state, field, windows = spending.open(bucket, receipt, limits, clock.now_us())
  if not state then
    return nil, field
  end
  local charge, failure = charging.find(bucket, state, field)
  if failure then
    return nil, failure
  end
  local outcome, charged_micros = 'unknown', actual_micros
  if charge and charge.status == 'settled' then
    outcome = 'repeated'
    charged_micros = charge.charged_micros
  elseif charge and charge.status == 'reserved' then
    outcome = 'settled'
  elseif charge and charge.status == 'lapsed' then
    outcome = 'late'
  end

  if outcome ~= 'repeated' then
    if outcome == 'settled' then
      failure = charging.change(bucket, state, charge, 'settled', actual_micros)
    else
      failure = charging.make(bucket, state, charge, 'settled', actual_micros, 0, receipt)
    end
    if failure then
      return nil, failure
    end
  end
  local penalty_us = 0
  if state.barred_us > state.now_us then
    penalty_us = state.barred_us - state.clock_us
  end
  return outcome, charged_micros, charging.exceeded(state), penalty_us, budget.rows(windows, limits)
end
