package contract_test

import (
	"slices"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/contract"
)

// A circuit breaker lets one caller probe when its cool-down is over. A second caller is seen only after a failure, the exact wait, a probe
// and another call while that one lasts.
func TestRun_reachesWhatTakesFourSteps(t *testing.T) {
	breaker := map[string]string{
		"report": `--- Reports how a call went; so many failures open the circuit.
--- @use clock
--- @key    circuit  string[circuit]     open, with the end of its cool-down
--- @key    failures string[failures]    failures in a row
--- @arg    ok       bool                whether it went well
--- @arg    most     count[3..1000]      failures that open it
--- @arg    cooldown duration[1s..1h]    how long it stays open
--- @result open     bool                whether it is open now
local function report(circuit, failures, ok, most, cooldown_us)
  if ok then
    redis.call('DEL', circuit, failures)
    return false
  end
  local count = redis.call('INCR', failures)
  clock.expire(failures, cooldown_us)
  if count < most then
    return false
  end
  clock.store_for(circuit, clock.text(clock.now_us() + cooldown_us), 2 * cooldown_us)
  return true
end
`,
		"allow": `--- Asks whether a call may be made. One may probe when the cool-down is over.
--- @use clock
--- @key    circuit string[circuit]     open, with the end of its cool-down
--- @key    prober  string[prober]      who probes
--- @arg    name    text[1..16]         who asks
--- @arg    probe   duration[1s..1h]    how long a probe may take
--- @result allowed bool                whether the call may be made
--- @result waiting count[0..2]         2 behind another's probe
local function allow(circuit, prober, name, probe_us)
  local until_us = tonumber(redis.call('GET', circuit) or '0')
  if until_us == 0 then
    return true, 0
  elseif until_us > clock.now_us() then
    return false, 1
  end
  local holder = redis.call('GET', prober)
  if holder and holder ~= name then
    return false, 3
  end
  clock.store_for(prober, name, probe_us)
  return true, 0
end
`,
	}
	reached := 0
	for seed := range uint64(10) {
		r := run(t, contract.Options{Seed: seed, Quick: true, Unshrunk: true}, breaker)
		if slices.ContainsFunc(r.Findings, func(f contract.Finding) bool { return f.Rule == "result" && f.Function == "sample.allow" }) {
			reached++
		}
	}
	if reached < 7 {
		t.Errorf("a call came second with %d of 10 seeds, and it was 8", reached)
	}
}
