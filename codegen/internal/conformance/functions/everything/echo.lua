--- Answers with its own arguments, of every type.
--- @key    bucket      string[state]            the subject's key
--- @key    second      hash[more]               a derived key
--- @arg    number      count[1..100]            a whole number
--- @arg    cost        count[0..100]=7          a number whose zero is legal
--- @arg    bonus       count[0..]?              a number that may be absent
--- @arg    level       count[5..9]?             a number that may be absent and is never 0
--- @arg    price       micros[0..1000000000]    money
--- @arg    tip         micros[1..]?             money that may be absent
--- @arg    window      duration[1us..30d]       a duration
--- @arg    grace       duration[1ms..1h]=5s     a duration with a default
--- @arg    since       time                     a time
--- @arg    latest      time?                    a time that may be absent
--- @arg    on          bool                     a bool
--- @arg    off         bool?                    a bool that may be absent
--- @arg    note        text[0..64]              any bytes
--- @arg    receipt     text[256]?               bytes that may be absent
--- @arg    kind        enum(log,bucket)         a word
--- @arg    mode        enum(open,closed)=closed a word with a default
--- @result bucket      text                     the first key
--- @result second      text                     the second key
--- @result number      count                    number
--- @result cost        count                    cost
--- @result bonus       count                    bonus, 0 when absent
--- @result level       count                    level, 0 when absent
--- @result price       micros                   price
--- @result tip         micros                   tip, 0 when absent
--- @result window      duration                 window
--- @result grace       duration                 grace
--- @result since       time                     since
--- @result later       time                     until, the epoch when absent
--- @result on          bool                     on
--- @result off         bool                     off
--- @result note        text                     note
--- @result receipt     text                     receipt, empty when absent
--- @result kind        enum(log,bucket)         kind
--- @result mode        enum(open,closed)        mode
local function echo(bucket, second, number, cost, bonus, level, price_micros, tip_micros, window_us, grace_us, since_us,
    latest_us, on, off, note, receipt, kind, mode)
  return bucket, second, number, cost, bonus or 0, level or 0, price_micros, tip_micros or 0, window_us, grace_us, since_us,
    latest_us or 0, on, off, note, receipt or '', kind, mode
end
