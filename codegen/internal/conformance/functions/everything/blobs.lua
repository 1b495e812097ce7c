--- Answers with its own bytes and JSON.
--- @flags  no-writes
--- @key    bucket     string[state]              the subject's key
--- @arg    data       bytes[64]                  any bytes, also none
--- @arg    seal       bytes[1..8]?               bytes that may be absent
--- @arg    payload    json[32]                   any JSON
--- @arg    order      json[4..64]                more JSON
--- @arg    before     json[64]?                  more JSON that may be absent
--- @arg    note       json[16]?                  JSON that may be absent
--- @arg    wrong      enum(no,broken,long)=no    which result is not as the header says
--- @arg    parts      list[0..3] of bytes[4]     bytes
--- @arg    orders     list[0..3] of json[64]     more JSON
--- @arg    rows       packed[0..2]               packed rows
--- @arg    rows.data  bytes[0..4]                any bytes
--- @arg    rows.extra json[16]?                  JSON that may be absent
--- @result same       bool                       whether data is the content of the key
--- @result data       bytes[64]                  data
--- @result seal       bytes?                     seal
--- @result payload    json[32]                   payload
--- @result order      json                       order
--- @result before     json?                      before
--- @result note       json?                      note
--- @result parts      list[0..3] of bytes        parts
--- @result orders     list[0..3] of json         orders
--- @result rows       group                      rows
--- @result rows.data  bytes                      its bytes
--- @result rows.extra json?                      its JSON
local function blobs(bucket, data, seal, payload, order, before, note, wrong, parts, orders, rows)
  local all = {}
  for i = 1, #rows do
    all[i] = {data = rows[i].data, extra = rows[i].extra}
  end
  if wrong == 'broken' then
    payload = '{"a":'
  elseif wrong == 'long' then
    payload = string.rep('1', 33)
  end
  return redis.call('GET', bucket) == data, data, seal, payload, order, before, note, parts, orders, all
end
