package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var geoCommands = []Command{
	{Name: "geoadd", Arity: -5, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Run: geoadd},
	{Name: "geopos", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geopos},
	{Name: "geohash", Arity: -2, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geohash},
	{Name: "geodist", Arity: -4, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geodist},
	{Name: "geosearch", Arity: -7, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geosearch},
	{Name: "geosearchstore", Arity: -8, Flags: Write | DenyOOM, First: 1, Last: 2, Step: 1, Run: geosearch},
	{Name: "georadius", Arity: -6, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Locate: georadiusTarget, Run: geosearch},
	{Name: "georadius_ro", Arity: -6, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geosearch},
	{Name: "georadiusbymember", Arity: -5, Flags: Write | DenyOOM, First: 1, Last: 1, Step: 1, Locate: georadiusTarget, Run: geosearch},
	{Name: "georadiusbymember_ro", Arity: -5, Flags: ReadOnly, First: 1, Last: 1, Step: 1, Run: geosearch},
}

// Positions have 26 bits for each of longitude and latitude. The latitude ends where Web Mercator does.
const (
	geoBits  = 26
	geoLong  = 180
	geoLat   = 85.05112878
	geoEarth = 6372797.560856 // mean radius in metres
)

// A place is a position in degrees.
type place struct{ long, lat float64 }

// encode gives the bits of latitude and longitude in turn, the longitude's first. Latitudes reach up to limit.
func (p place) encode(limit float64) uint64 {
	return interleave(cellOf(p.long, geoLong, geoBits), cellOf(p.lat, limit, geoBits))
}

// cellOf divides the range from -limit to limit into 1<<bits cells and gives the one that f is in. The end of the range is in one more.
func cellOf(f, limit float64, bits int) uint32 {
	return uint32((f + limit) / (2 * limit) * float64(int(1)<<bits))
}

// edgeOf is where a cell begins.
func edgeOf(cell uint32, limit float64, bits int) float64 {
	return -limit + float64(float64(cell)/float64(int(1)<<bits)*(2*limit))
}

// placeAt is the middle of the cell that a score stands for, which need not be one of GEOADD.
func placeAt(score float64) place {
	var bits uint64
	switch {
	case score < 0:
		bits = uint64(int64(score))
	case score < 1<<64:
		bits = uint64(score)
	}
	middle := func(cell uint32, limit float64) float64 {
		return max(-limit, min((edgeOf(cell, limit, geoBits)+edgeOf(cell+1, limit, geoBits))/2, limit))
	}
	return place{middle(deinterleave(bits>>1), geoLong), middle(deinterleave(bits), geoLat)}
}

func interleave(long, lat uint32) (out uint64) {
	for i := range 32 {
		out |= uint64(long>>i&1)<<(2*i+1) | uint64(lat>>i&1)<<(2*i)
	}
	return out
}

// deinterleave takes every second bit, from the lowest on.
func deinterleave(n uint64) (out uint32) {
	for i := range 32 {
		out |= uint32(n>>(2*i)&1) << i
	}
	return out
}

// distance is that on the sphere, in metres, by the haversine formula.
func (p place) distance(q place) float64 {
	v := math.Sin((radians(q.long) - radians(p.long)) / 2)
	if v == 0 {
		return p.latDistance(q)
	}
	u := math.Sin((radians(q.lat) - radians(p.lat)) / 2)
	a := float64(u*u) + float64(math.Cos(radians(p.lat))*math.Cos(radians(q.lat))*v*v)
	return 2 * geoEarth * math.Asin(math.Sqrt(a))
}

func (p place) latDistance(q place) float64 {
	return geoEarth * math.Abs(radians(q.lat)-radians(p.lat))
}

// The conversion keeps processors that can from fusing the product with a sum: C does not.
func radians(degrees float64) float64 { return float64(degrees * (math.Pi / 180)) }

func degrees(radians float64) float64 { return radians / (math.Pi / 180) }

// reply prints up to 17 decimals, as Redis prints a long double.
func (p place) reply() reply.Value {
	coordinate := func(f float64) reply.Value {
		text := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(f, 'f', 17, 64), "0"), ".")
		if text == "-0" {
			text = "0"
		}
		return reply.Value{Kind: reply.Double, Str: text}
	}
	return array([]reply.Value{coordinate(p.long), coordinate(p.lat)})
}

// parsePlace reads a longitude and a latitude.
func parsePlace(words []string) (p place, problem reply.Value) {
	var first, second bool
	p.long, first = parseFloat(words[0])
	p.lat, second = parseFloat(words[1])
	switch {
	case !first || !second:
		return p, errNotFloat
	case math.Abs(p.long) > geoLong || math.Abs(p.lat) > geoLat:
		number := func(f float64) string {
			return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', 6, 64), "+"))
		}
		return p, failure("ERR invalid longitude,latitude pair " + number(p.long) + "," + number(p.lat))
	}
	return p, okay
}

// parseUnit gives a unit's length in metres.
func parseUnit(s string) (float64, reply.Value) {
	switch lower(s) {
	case "m":
		return 1, okay
	case "km":
		return 1000, okay
	case "ft":
		return 0.3048, okay
	case "mi":
		return 1609.34, okay
	}
	return 0, failure("ERR unsupported unit provided. please use M, KM, FT, MI")
}

func metres(f float64) reply.Value { return bulk(strconv.FormatFloat(f, 'f', 4, 64)) }

func geoadd(c *Call) reply.Value {
	var o zaddOptions
	words := c.Args[2:]
options:
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case is(w, "nx"):
			o.onlyNew = true
		case is(w, "xx"):
			o.onlyOld = true
		case is(w, "ch"):
			o.changed = true
		default:
			break options
		}
	}
	if len(words) == 0 || len(words)%3 != 0 || o.onlyNew && o.onlyOld {
		return errSyntax
	}
	var pairs []string
	for ; len(words) > 0; words = words[3:] {
		p, problem := parsePlace(words)
		if problem.Kind == reply.Error {
			return problem
		}
		pairs = append(pairs, strconv.FormatUint(p.encode(geoLat), 10), words[2])
	}
	return c.zadd(o, pairs)
}

// places finds the positions of members, and answers with what show makes of each, or with missing.
func (c *Call) places(missing reply.Value, show func(place) reply.Value) reply.Value {
	e, fits := c.find(c.Args[1], store.ZSet)
	if !fits {
		return errWrongType
	}
	values := make([]reply.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		values[i] = missing
		if p, there := placeOf(e, member); there {
			values[i] = show(p)
		}
	}
	return array(values)
}

func placeOf(e *store.Entry, member string) (p place, there bool) {
	if e == nil {
		return p, false
	}
	score, there := e.ZSet.Score(member)
	return placeAt(score), there
}

func geopos(c *Call) reply.Value { return c.places(nilArray, place.reply) }

// geohash answers with the text of geohash.org, which has latitudes up to the poles. The last of its 11 letters would take more bits than there are.
func geohash(c *Call) reply.Value {
	return c.places(null, func(p place) reply.Value {
		bits := p.encode(90)
		text := []byte("00000000000")
		for i := range 10 {
			text[i] = "0123456789bcdefghjkmnpqrstuvwxyz"[bits>>(2*geoBits-5*(i+1))&31]
		}
		return bulk(string(text))
	})
}

func geodist(c *Call) reply.Value {
	unit, problem := 1.0, okay
	switch {
	case len(c.Args) > 5:
		return errSyntax
	case len(c.Args) == 5:
		unit, problem = parseUnit(c.Args[4])
	}
	if problem.Kind == reply.Error {
		return problem
	}
	e, fits := c.find(c.Args[1], store.ZSet)
	if !fits {
		return errWrongType
	}
	from, first := placeOf(e, c.Args[2])
	to, second := placeOf(e, c.Args[3])
	if !first || !second {
		return null
	}
	return metres(from.distance(to) / unit)
}
