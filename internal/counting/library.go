// Package counting has what shows how often a call ran: a library that counts its calls, and a proxy that loses them.
package counting

import "github.com/rlfunc/rlfunc/fcall"

const code = `#!lua name=fcalltest_v1
do -- rlfunc: lines=5 file=fcalltest/hit.lua
local function hit(keys, args)
  local n = redis.call('INCR', keys[1])
  redis.call('PEXPIRE', keys[1], 60000)
  return {n}
end
redis.register_function('fcalltest_v1_hit', hit)
end
redis.register_function{function_name='fcalltest_v1_look', flags={'no-writes'}, callback=function(keys, args)
  return {tonumber(redis.call('GET', keys[1]) or 0)}
end}
redis.register_function('fcalltest_v1_arg', function(keys, args)
  return {err='RLARG limit must be a whole number from 1 to 10'}
end)
redis.register_function('fcalltest_v1_state', function(keys, args)
  return {err='RLSTATE ' .. keys[1] .. ': holds a list'}
end)
redis.register_function('fcalltest_v1_quota', function(keys, args)
  return {err='QUOTA is used up'}
end)
do -- rlfunc: lines=9 file=fcalltest/crash.lua
redis.register_function('fcalltest_v1_crash', function(keys, args)
  redis.call('SET', keys[1], 'x', 'PX', 60000)
  local none = nil
  return none.field
end)
redis.register_function('fcalltest_v1_wrongtype', function(keys, args)
  redis.call('SET', keys[1], 'x', 'PX', 60000)
  return redis.call('LPUSH', keys[1], '1')
end)
end
redis.register_function('fcalltest_v1_nested', function(keys, args)
  return {redis.error_reply('RLARG hidden')}
end)
redis.register_function('fcalltest_v1_nothing', function(keys, args) return nil end)
`

// Library counts the calls that ran, even if their replies are lost: each hit is one INCR.
var Library = &fcall.Library{Name: "fcalltest", Version: "1.0.0", ServerName: "fcalltest_v1", Code: code}

// Function returns a function of the Library.
func Function(name string) *fcall.Function {
	return &fcall.Function{Library: Library, Name: name, ServerName: "fcalltest_v1_" + name, ReadOnly: name == "look", Codes: []string{"QUOTA"}}
}
