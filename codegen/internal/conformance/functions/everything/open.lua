--- Answers with numbers of any size: floats without bounds on a side.
--- @flags  no-writes
--- @key    bucket        string[state]               the subject's key
--- @arg    any           float                       any number
--- @arg    least         float[0..]                  a number of at least 0
--- @arg    most          float[..5]?                 a number of at most 5
--- @arg    steps         packed[0..4]                packed rows
--- @arg    steps.by      float=0.5                   any number
--- @arg    list          list[0..4] of float         any numbers
--- @arg    times         enum(one,thousand)          what any is multiplied by
--- @result any           float                       any, multiplied
--- @result least         float[0..]                  least
--- @result most          float?                      most
--- @result sum           list[0..8] of float         the numbers of steps and list
local function open(bucket, any, least, most, steps, list, times) -- rlfunc:ignore unused-parameter the key is a subject's
  local all = {}
  for i = 1, #steps do
    all[#all + 1] = steps[i].by
  end
  for i = 1, #list do
    all[#all + 1] = list[i]
  end
  if times == 'thousand' then
    any = any * 1000
  end
  return any, least, most, all
end
