--- Charges cost while at most limit is charged in a period of the calendar, such as a month in Berlin.
---
--- Redis has no time zones, so the caller sends the boundaries of three periods, which package calendar finds: the one in which its clock
--- is, the one before and the next. The server's clock decides in which of them the call is. So a caller with a wrong clock neither
--- begins a period early nor extends one, and if its clock is wrong by more than a period, the call is refused with RLARG. A refused
--- call writes nothing, and a cost of 0 charges nothing. If the server's clock is set back to before a period, the period before
--- begins again, with the use of the one that it was in.
---
--- Callers with other limits and periods may share the bucket: each period counts by itself, and every charge counts in all
--- that have not ended. So no caller passes its own limit in its own period. A period that is new to the bucket begins with the greatest
--- use of those: all of it if that one began no earlier, otherwise its share by time. The bucket keeps eight periods. A ninth replaces the
--- one whose caller was admitted longest ago.
--- @use clock quota_count
--- @key    bucket      string[quota]       what the subject used in this period
--- @arg    limit       count[1..1000000000000] most that may be charged in a period
--- @arg    previous    time                when the period before starts
--- @arg    start       time                when the period starts that the caller is in
--- @arg    next        time                when the next period starts
--- @arg    after       time                when the one after that starts
--- @arg    cost        count[0..1000000000000]=1 amount to charge; 0 charges nothing
--- @must   previous be below start
--- @must   start be below next
--- @must   next be below after
--- @must   after be at most previous + 3650d
--- @must   previous be at most now: the caller's clock is more than a period ahead of the server's
--- @must   after be above now: the caller's clock is more than a period behind the server's
--- @must   cost be at most limit: it can never be allowed
--- @result allowed     bool                whether cost was charged
--- @result remaining   count[0..1000000000000] what is left after the call: 7 when 3 of 10 are used
--- @result reset_after duration            wait until the period ends; 0 when nothing is used in it
--- @result retry_after duration            wait until cost would be allowed, exact to the microsecond; 0 when allowed
--- @error  RLARG                           cost exceeds limit, boundaries do not ascend, or the server's time is outside of them
--- @error  RLSTATE                         the key holds data that is not the use of periods
local function quota(bucket, limit, previous_us, start_us, next_us, after_us, cost)
  local boundaries = quota_count.boundaries(previous_us, start_us, next_us, after_us, false)
  local now_us = clock.now_us()
  local allowed, left, left_us, wait_us, place, used, periods = quota_count.check(bucket, limit, boundaries, cost, now_us)
  if allowed == nil then
    return nil, left
  elseif allowed and cost > 0 then
    return true, left - cost, quota_count.charge(bucket, cost, boundaries, now_us, place, used, periods), 0
  end
  return allowed, left, left_us, wait_us
end
