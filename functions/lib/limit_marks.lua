--- What a call took of a limit, found again by its mark: when it will be forgotten, in microseconds; 0 where nothing was taken.
--- @use log_entry token_bucket window_count window_pair
--- @lib limit_marks
local limit_marks = {}

-- Marks the rows that limit_set.charge has charged.
function limit_marks.note(limits, rows, clock_us)
  for i = 1, #rows do
    local row = rows[i]
    if row.allowed and limits[i].cost > 0 then
      local end_us = clock_us + row.reset_after_us
      -- An expiry is in whole milliseconds, and the clock somewhere inside of one.
      if limits[i].kind ~= 'sliding_log' and row.reset_after_us % 1000 == 0 then
        end_us = end_us - end_us % 1000
      end
      row.mark = end_us
    end
  end
end

-- Gives back what a call took of a row that limit_set.judge has just read: nothing where it counts no more.
function limit_marks.give_back(row, clock_us)
  if row.mark == 0 or row.cost == 0 then
    return
  end
  local window_ms = math.ceil(row.window_us / 1000)
  if row.kind == 'sliding_log' then
    log_entry.remove(row.state, row.mark - row.window_us)
  elseif row.mark <= clock_us then
    return
  elseif row.kind == 'gcra' then
    token_bucket.refund(row.state, row.limit, row.window_us, row.burst or row.limit, row.cost, clock_us)
  elseif row.kind == 'fixed_window' then
    window_count.refund(row.state, window_ms, row.cost)
  else
    window_pair.refund(row.state, window_ms, row.cost, row.mark - window_ms * 1000 <= clock_us)
  end
end

return limit_marks
