--- Answers with numbers that may be below 0 and with defaults of text and bool.
--- @flags  no-writes
--- @key    bucket        string[state]               the subject's key
--- @arg    delta         int[-1000..1000]            a whole number with a sign
--- @arg    score         float[-100..100]            a number with a fraction
--- @arg    wide          int?                        a whole number that may be absent, and 0
--- @arg    debt          int[..-1]?                  a whole number that may be absent, and is never 0
--- @arg    weight        float[0..1]=0.5             a number with a default
--- @arg    region        text[16]="eu west = 1"      a text with a default
--- @arg    strict        bool=true                   a bool that is true by default
--- @arg    steps         group[0..4]                packed rows
--- @arg    steps.by      int[-5..5]                  a whole number with a sign
--- @arg    steps.rate    float[-1..1]=-0.25          a number with a default
--- @arg    steps.on      bool=true                   a bool that is true by default
--- @result allowed       bool                        strict
--- @result delta         int[-1000..1000]            delta
--- @result score         float                       score
--- @result wide          int                         wide, 7 when absent
--- @result debt          int                         debt, 0 when absent
--- @result weight        float[0..1]                 weight
--- @result region        text                        region
--- @result steps         group                       the rows
--- @result steps.by      int                         by
--- @result steps.rate    float                       rate
--- @result steps.on      bool                        on
local function signs(bucket, delta, score, wide, debt, weight, region, strict, steps)
  local rows = {}
  for i = 1, #steps do
    rows[i] = {by = steps[i].by, rate = steps[i].rate, on = steps[i].on}
  end
  return strict, delta, score, wide or 7, debt or 0, weight, region, rows
end
