--- Forgets everything that is spent of budgets, and their penalties.
---
--- A later settlement of an earlier reservation still records what it cost.
--- @use budget
--- @subject                    whose money it is: a stable identity, never a session
--- @arg    budgets     group(budget)[1..16] budgets to reset, each optionally of its own subject
--- @result existed     bool                whether there was anything to reset
local function reset(budgets, budgets_spent)
  local existed = 0
  for i = 1, #budgets do
    existed = existed + redis.call('DEL', budgets_spent[i])
  end
  return existed > 0
end
