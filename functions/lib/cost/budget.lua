--- A budget: its row in a call, and its result.
---
--- Rows with one subject and unit are one account: they share its charges, and one of each call's amounts.
--- @lib budget
--- @arg    budget      micros[0..1000000000000000] most that may be spent in a window; of a unit, whole ones
--- @arg    window      duration[1us..3650d]     length of the window
--- @arg    unit        text[32]?                unit of the budget: tokens; money when omitted
--- @key    charges     hash[charges:<unit>]     the account's charges
--- @result allowed     bool                     whether the amount fits this budget, or is already part of it
--- @result spent       micros                   what is spent in the window after the call: 300000 of a budget of 1000000
--- @result remaining   micros                   what is left of the budget: 700000; 0 when it is exceeded
--- @result retry_after duration                 wait until the amount fits this budget; 0 when it does, and when it never will
local budget = {}

return budget
