--- Answers with its own rows, of two packed groups.
--- @key    bucket         string[state]            the subject's key
--- @arg    before         count                    an argument before the groups
--- @arg    items          group(item)[0..4]       rows of several subjects, prepared by a lib file
--- @arg    between        text[16]?                an argument between the groups
--- @arg    pairs_of       group[1..2]             rows that this file declares
--- @arg    pairs_of.left  text[64]                 a text
--- @arg    pairs_of.right count                    a number
--- @arg    pairs_of.third count[1..9]?             a number that may be absent
--- @arg    after          count[1..9]=3            an argument behind the groups
--- @result total          count                    how many rows came in, and before and after
--- @result items          group(item)              a row for each item
--- @result whole          count                    milliseconds of all items, each window rounded up
--- @result pairs_of       group                    a row for each pair
--- @result pairs_of.left  text                     its text
--- @result pairs_of.right count                    its number
--- @result pairs_of.third count                    its third cell, 0 when absent
--- @result between        text                     between, the key when absent
local function packs(bucket, before, items, items_state, items_seen, between, pairs_of, after)
  local out, whole = {}, 0
  for i = 1, #items do
    local row = items[i]
    whole = whole + row.window_ms
    out[i] = {
      name = row.name, kind = row.kind, state = items_state[i], seen = items_seen[i], window_us = row.window_us + (row.budget_micros or 0),
      cost = row.cost, since_us = row.since_us or 0, on = row.on, note = row.note, shadow = row.shadow, mode = row.mode,
    }
  end
  local both = {}
  for i = 1, #pairs_of do
    both[i] = {left = pairs_of[i].left, right = pairs_of[i].right, third = pairs_of[i].third or 0}
  end
  return before + #items + #pairs_of + after, out, whole, both, between or bucket
end
