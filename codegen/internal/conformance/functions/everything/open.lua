--- Answers with numbers of any size: floats without bounds on a side.
--- @flags  no-writes
--- @key    bucket        string[state]               the subject's key
--- @arg    any           float                       any number
--- @arg    least         float[0..]                  a number of at least 0
--- @arg    most          float[..5]?                 a number of at most 5
--- @arg    steps         group[0..4]                rows
--- @arg    steps.by      float=0.5                   any number
--- @arg    times         enum(one,thousand)          what any is multiplied by
--- @result any           float                       any, multiplied
--- @result least         float[0..]                  least
--- @result most          float                       most, 0 when absent
--- @result sum           group                       the numbers of steps
--- @result sum.of        float                       a number
local function open(bucket, any, least, most, steps, times) -- rlfunc:ignore unused-parameter the key is a subject's
  local all = {}
  for i = 1, #steps do
    all[#all + 1] = {of = steps[i].by}
  end
  if times == 'thousand' then
    any = any * 1000
  end
  return any, least, most or 0, all
end
