--- An override as a field of its namespace's hash.
--- @use clock
--- @lib override_record
--- @state override_set 2 '<effect> <factor or amount> <end> <set> <length of by> <length of unit> <by><unit><reason>' in the field
---     '<length of budget> <budget><subject>', whose budget is '' unless it is a top-up; '' is the version
local override_record = {}

-- The largest number of an override, by its effect.
local most = {allow = 1, deny = 1, multiply = 1000000, add = 1000000000000000}

-- Parses an override as of clock_us; nil if it is invalid. If the clock was set back, it has at most its original duration left.
function override_record.parse(field, text, clock_us)
  local effect, number, ends, set, by_size, unit_size, rest = string.match(text, '^(%l+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
  local budget_size, named = string.match(field, '^(%d+) (.+)$')
  if not named or not effect or not most[effect] then
    return nil
  end
  local n, ends_us, set_us = tonumber(number), clock.parse_us(ends), clock.parse_us(set)
  local by_length, unit_length, budget_length = tonumber(by_size), tonumber(unit_size), tonumber(budget_size)
  if not ends_us or not set_us or ends_us <= set_us or n < 1 or n > most[effect] or by_length < 1 or by_length + unit_length >= #rest
    or budget_length >= #named or (effect == 'add') ~= (budget_length > 0) then
    return nil
  end
  return {
    subject = string.sub(named, budget_length + 1), budget = string.sub(named, 1, budget_length), effect = effect,
    factor = effect == 'multiply' and n or 1, amount_micros = effect == 'add' and n or 0,
    ends_us = ends_us, set_us = set_us, left_us = math.min(ends_us - clock_us, ends_us - set_us),
    by = string.sub(rest, 1, by_length), unit = string.sub(rest, by_length + 1, by_length + unit_length),
    reason = string.sub(rest, by_length + unit_length + 1),
  }
end

-- Returns the field of an override.
function override_record.field(row)
  return string.format('%.0f ', #row.budget) .. row.budget .. row.subject
end

-- Formats an override.
function override_record.text(row)
  local n = math.max(row.factor, row.amount_micros) -- one of them is its number, the other at most 1
  return string.format('%s %.0f %.0f %.0f %.0f %.0f ', row.effect, n, row.ends_us, row.set_us, #row.by, #row.unit) .. row.by .. row.unit .. row.reason
end

return override_record
