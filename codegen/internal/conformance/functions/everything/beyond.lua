--- Answers with results that are inside their bounds, or with one that is not.
--- @flags  no-writes
--- @key    bucket      string[state]                       the subject's key
--- @arg    which       enum(none,small,large,price,wait,note,row) which result is out of bounds
--- @arg    value       count                               what it is; of a text, its length
--- @result ok          bool                                true
--- @result small       count[3..9]                         a number that shares one with others
--- @result large       count[3..20000000]                  one that does not
--- @result price       micros[0..1000000]                  money
--- @result wait        duration[0..1d]                     a duration
--- @result note        text[0..4]                          a text
--- @result rows        group                               a row
--- @result rows.number count[2..20000000]                  its number
local function beyond(bucket, which, value)
  local r = {small = 3, large = 3, price = 0, wait = 0, note = '', row = 2}
  if which == 'note' then
    r.note = string.rep('x', value)
  elseif which ~= 'none' then
    r[which] = value
  end
  return redis.call('EXISTS', bucket) == 0, r.small, r.large, r.price, r.wait, r.note, {{number = r.row}}
end
