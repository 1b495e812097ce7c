--- Answers with the optional results that which names.
--- @flags  no-writes
--- @key    bucket      string[state]                 the subject's key
--- @arg    which       enum(none,zeros,values)       none of them, their zeros, or other values
--- @arg    rows        count[0..3]                   rows to answer with
--- @result found       bool                          whether there are any
--- @result holder      text[64]?                     a text, which may be empty
--- @result small       count[0..9]?                  a number that shares one with others
--- @result never_zero  count[5..9]?                  a number above 0
--- @result large       count?                        a number that does not share one
--- @result delta       int[-9..-1]?                  a number below 0
--- @result score       float?                        a number with a fraction
--- @result price       micros?                       money
--- @result wait        duration?                     a duration
--- @result since       time?                         a time
--- @result on          bool?                         a bool
--- @result kind        enum(log,bucket)?             a word
--- @result rows        group                         rows
--- @result rows.name   text[8]?                      a text
--- @result rows.number count[0..9]?                  a number
local function maybe(bucket, which, rows)
  local all = {}
  for i = 1, rows do
    all[i] = {}
    if which ~= 'none' then
      all[i] = {name = '', number = i - 1}
    end
  end
  if which == 'none' or redis.call('EXISTS', bucket) == 1 then
    return false, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, all
  end
  if which == 'zeros' then
    return true, '', 0, 5, 0, -1, 0, 0, 0, 0, false, 'log', all
  end
  return true, 'ann', 9, 9, 3, -9, 0.25, 7, 1000, 1, true, 'bucket', all
end
