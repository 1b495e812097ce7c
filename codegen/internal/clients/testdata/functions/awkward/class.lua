--- Counts its calls.
--- @key    counter  string[class] the subject's key
--- @arg    int      count[1..9]         a number
--- @arg    str      text[16]?           a text
--- @arg    bool     bool?               a bool
--- @arg    list     group[0..4]         rows
--- @arg    list.str text[16]            a text
--- @arg    list.int count[1..9]?        a number
--- @arg    list.number count[1..9]?     a number after one named int
--- @arg    timedelta duration[1us..1d]? a duration
--- @arg    datetime time?               a time
--- @arg    class    enum(none,default)=none a word
--- @arg    await    count[0..9]?        a number
--- @arg    self     count[0..9]?        a number
--- @result int      count               the number
--- @result class    enum(none,default)  the word
--- @result number   count               a number after one named int
--- @result list     group               rows
--- @result list.int count               the number
--- @result list.number count            a number after one named int
--- @result more     group               rows after those named list
--- @result more.str text                a text
local function class(counter, int, str, bool, list, timedelta_us, datetime_us, class, await, self)
  return int, class, int, list, list
end
