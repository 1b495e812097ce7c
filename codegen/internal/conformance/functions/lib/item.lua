--- One row of a packed group: what a plan says of an item.
--- @use refusal
--- @lib item
--- @arg    name    text[32]                 the item's name; it ends its keys
--- @arg    kind    enum(sum,last)           a word that names a key
--- @key    state   any[<kind>:<name>]       a key whose type and suffix go by kind
--- @key    seen    zset[seen:<name>]        another key
--- @arg    window  duration[1us..1d]        a duration
--- @arg    cost    count[0..9]=1            a number whose zero is legal
--- @arg    budget  micros[0..]?             money that may be absent
--- @arg    since   time?                    a time that may be absent
--- @arg    on      bool                     a bool
--- @arg    note    text[0..64]              any bytes
--- @arg    shadow  bool?                    a bool that may be absent
--- @arg    mode    enum(open,closed)=closed a word with a default
--- @result name    text                     its name
--- @result kind    enum(sum,last)           its kind
--- @result state   text                     its first key
--- @result seen    text                     its second key
--- @result window  duration                 its window, and its budget if it has one
--- @result cost    count                    its cost
--- @result since   time                     its time, 0 when absent
--- @result on      bool                     on
--- @result note    text                     its note
--- @result shadow  bool                     shadow
--- @result mode    enum(open,closed)        its mode
local item = {}

-- Adds whole milliseconds, and refuses a last item that costs, and one that is there already.
function item.prepare(row, above)
  if row.kind == 'last' and row.cost > 1 then
    return nil, refusal.argument('cost must be 0 or 1 in a last item')
  end
  for i = 1, #above do
    if above[i].name == row.name and above[i].kind == row.kind then
      return nil, refusal.argument('name must differ from that of another row of its kind')
    end
  end
  row.window_ms = math.ceil(row.window_us / 1000)
  return row
end

return item
