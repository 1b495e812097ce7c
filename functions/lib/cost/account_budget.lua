--- A budget of a call's account, and its result.
--- @lib account_budget
--- @arg    budget      micros[0..1000000000000000] most that may be spent in a window or period
--- @arg    window      duration[1us..3650d]     length of the window
--- @arg    previous    time?                    of a budget with periods of the calendar: when the period before starts, as in quota
--- @arg    start       time?                    when the period starts, which window is the length of
--- @arg    after       time?                    when the period after the next one starts
--- @must   previous and after be given if start
--- @must   start be given if previous
--- @must   start be given if after
--- @must   previous be below start
--- @must   start + window be below after
--- @must   after be at most previous + 3650d
--- @result allowed     bool                     whether the amount fits this budget, or is already part of it
--- @result spent       micros                   what is spent in the window after the call: 300000 of a budget of 1000000
--- @result remaining   micros                   what is left of the budget: 700000; 0 when it is exceeded
--- @result retry_after duration                 wait until the amount fits this budget; 0 when it does, and when it never will
local account_budget = {}

return account_budget
