package command

import (
	"cmp"
	"math"
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A geoQuery is what GEOSEARCH, GEORADIUS and their like look for.
type geoQuery struct {
	center        place
	from          string  // the option that gave it
	shape         string  // byradius or bybox
	radius        float64 // in the unit
	width, height float64
	unit          float64 // in metres
	sorted        bool
	descending    bool
	count         int64 // 0: all
	any           bool  // the first that are found

	withDist, withHash, withCoord bool

	target    string // of what is stored
	stores    bool
	storeDist bool // scores are distances
}

// A found is a member within the area.
type found struct {
	member   string
	score    float64
	at       place
	distance float64 // in the unit
}

// geosearch is GEOSEARCH, GEOSEARCHSTORE, GEORADIUS, GEORADIUSBYMEMBER and the two _RO.
func geosearch(c *Call) reply.Value {
	source := c.Args[1]
	if is(c.Args[0], "geosearchstore") {
		source = c.Args[2]
	}
	e, fits := c.find(source, store.ZSet)
	if !fits {
		return errWrongType
	}
	q, problem := c.parseGeo(e)
	if problem.Kind == reply.Error {
		return problem
	}
	var results []found
	if e != nil {
		results = q.find(e.ZSet)
	}
	if !q.stores {
		return q.reply(results)
	}
	if len(results) == 0 {
		c.DB.Delete(q.target)
		return zero
	}
	z := store.NewSorted()
	for _, f := range results {
		score := f.score
		if q.storeDist {
			score = f.distance
		}
		z.Set(f.member, score)
	}
	c.DB.Put(q.target, store.Entry{Kind: store.ZSet, ZSet: z, Expire: store.Never})
	return number(len(results))
}

func (c *Call) parseGeo(e *store.Entry) (q geoQuery, problem reply.Value) {
	name, words := lower(c.Args[0]), c.Args[2:]
	search := name == "geosearch" || name == "geosearchstore"
	canStore := name == "georadius" || name == "georadiusbymember"
	switch name {
	case "geosearchstore":
		q.target, q.stores, words = c.Args[1], true, c.Args[3:]
	case "georadius", "georadius_ro":
		if problem = q.fromPlace(words); problem.Kind != reply.Error {
			problem = q.circle(words[2:])
		}
		words = words[4:]
	case "georadiusbymember", "georadiusbymember_ro":
		if e != nil { // otherwise the radius is not read
			if problem = q.fromMember(e, words[0]); problem.Kind != reply.Error {
				problem = q.circle(words[1:])
			}
		}
		words = words[3:]
	}
	for ; problem.Kind != reply.Error && len(words) > 0; words = words[1:] {
		n := len(words) - 1 // words behind this one
		switch w := words[0]; {
		case is(w, "withdist"):
			q.withDist = true
		case is(w, "withhash"):
			q.withHash = true
		case is(w, "withcoord"):
			q.withCoord = true
		case is(w, "any"):
			q.any = true
		case is(w, "asc"), is(w, "desc"):
			q.sorted, q.descending = true, is(w, "desc")
		case is(w, "count") && n > 0:
			var valid bool
			if q.count, valid = parseInt(words[1]); !valid {
				return q, errNotInt
			}
			if q.count <= 0 {
				return q, failure("ERR COUNT must be > 0")
			}
			words = words[1:]
		case canStore && n > 0 && (is(w, "store") || is(w, "storedist")):
			q.target, q.stores, q.storeDist = words[1], true, is(w, "storedist")
			words = words[1:]
		case name == "geosearchstore" && is(w, "storedist"):
			q.storeDist = true
		case search && is(w, "frommember") && n > 0 && q.from != "fromlonlat":
			problem = q.fromMember(e, words[1])
			words = words[1:]
		case search && is(w, "fromlonlat") && n > 1 && q.from != "frommember":
			problem = q.fromPlace(words[1:])
			words = words[2:]
		case search && is(w, "byradius") && n > 1 && q.shape != "bybox":
			problem = q.circle(words[1:])
			words = words[2:]
		case search && is(w, "bybox") && n > 2 && q.shape != "byradius":
			problem = q.rectangle(words[1:])
			words = words[3:]
		default:
			return q, errSyntax
		}
	}
	command := "STORE option in GEORADIUS"
	if search {
		command = upper(name)
	}
	switch {
	case problem.Kind == reply.Error:
	case q.stores && (q.withDist || q.withHash || q.withCoord):
		problem = failure("ERR " + command + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
	case search && q.from == "":
		problem = failure("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + c.Args[0])
	case search && q.shape == "":
		problem = failure("ERR exactly one of BYRADIUS and BYBOX can be specified for " + c.Args[0])
	case q.any && q.count == 0:
		problem = failure("ERR the ANY argument requires COUNT argument")
	}
	q.sorted = q.sorted || q.count > 0 && !q.any
	return q, problem
}

func (q *geoQuery) fromPlace(words []string) (problem reply.Value) {
	q.from = "fromlonlat"
	q.center, problem = parsePlace(words)
	return problem
}

// fromMember takes any member of a key that is missing.
func (q *geoQuery) fromMember(e *store.Entry, member string) reply.Value {
	q.from = "frommember"
	var there bool
	if q.center, there = placeOf(e, member); !there && e != nil {
		return failure("ERR could not decode requested zset member")
	}
	return okay
}

func (q *geoQuery) circle(words []string) (problem reply.Value) {
	q.shape = "byradius"
	var valid bool
	if q.radius, valid = parseFloat(words[0]); !valid {
		return failure("ERR need numeric radius")
	}
	if q.radius < 0 {
		return failure("ERR radius cannot be negative")
	}
	q.unit, problem = parseUnit(words[1])
	return problem
}

func (q *geoQuery) rectangle(words []string) (problem reply.Value) {
	q.shape = "bybox"
	var valid bool
	if q.width, valid = parseFloat(words[0]); !valid {
		return failure("ERR need numeric width")
	}
	if q.height, valid = parseFloat(words[1]); !valid {
		return failure("ERR need numeric height")
	}
	if q.width < 0 || q.height < 0 {
		return failure("ERR height or width cannot be negative")
	}
	q.unit, problem = parseUnit(words[2])
	return problem
}

// find looks through the areas, in which ANY may let it stop before the end.
func (q geoQuery) find(z *store.Sorted) (results []found) {
	for _, area := range q.areas() {
		for n := z.First(area); n != nil && !area.Above(n); n = n.Next() {
			if q.any && int64(len(results)) == q.count {
				break
			}
			at := placeAt(n.Score)
			if q.shape == "bybox" && (at.latDistance(q.center) > q.height*q.unit/2 || at.distance(place{q.center.long, at.lat}) > q.width*q.unit/2) {
				continue
			}
			distance := q.center.distance(at)
			if q.shape == "bybox" || distance <= q.radius*q.unit {
				results = append(results, found{n.Member, n.Score, at, distance / q.unit})
			}
		}
	}
	if q.sorted {
		slices.SortStableFunc(results, func(a, b found) int {
			if q.descending {
				a, b = b, a
			}
			return cmp.Compare(a.distance, b.distance)
		})
	}
	if q.count > 0 && int64(len(results)) > q.count {
		results = results[:q.count]
	}
	return results
}

// areas are the scores that Redis looks through, in its order, which is that of a reply that is not sorted: a cell around the center, about as large
// as the shape, and those of its eight neighbours that the shape may reach. Like Redis this misses members where the shape is across the end of the
// longitudes or near a pole.
func (q geoQuery) areas() (areas []store.Scores) {
	width, height, reach := q.radius*q.unit, q.radius*q.unit, q.radius*q.unit
	if q.shape == "bybox" {
		width, height = q.width/2*q.unit, q.height/2*q.unit
		reach = math.Sqrt(float64(q.width/2*(q.width/2))+float64(q.height/2*(q.height/2))) * q.unit
	}
	up := degrees(height / geoEarth)
	toPole := q.center.lat + up // the side at which the shape is widest
	if q.center.lat < 0 {
		toPole = q.center.lat - up
	}
	across := degrees(width / geoEarth / math.Cos(radians(toPole)))

	g := geoGrid{geoPrecision(reach, q.center.lat)}
	long, lat := cellOf(q.center.long, geoLong, g.bits), cellOf(q.center.lat, geoLat, g.bits)
	if g.bits > 1 && (g.lat(g.move(lat, 1)+1) < q.center.lat+up || g.lat(g.move(lat, -1)) > q.center.lat-up ||
		g.long(g.move(long, 1)+1) < q.center.long+across || g.long(g.move(long, -1)) > q.center.long-across) {
		g.bits-- // the neighbours do not cover the shape
		long, lat = cellOf(q.center.long, geoLong, g.bits), cellOf(q.center.lat, geoLat, g.bits)
	}
	for _, d := range [][2]int{{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
		if g.bits > 1 && (d[1] < 0 && g.lat(lat) < q.center.lat-up || d[1] > 0 && g.lat(lat+1) > q.center.lat+up ||
			d[0] < 0 && g.long(long) < q.center.long-across || d[0] > 0 && g.long(long+1) > q.center.long+across) {
			continue
		}
		cell, shift := interleave(g.move(long, d[0]), g.move(lat, d[1])), 2*(geoBits-g.bits)
		area := store.Scores{Min: float64(cell << shift), Max: float64((cell + 1) << shift), MaxExclusive: true}
		if n := len(areas); n > 1 && areas[n-1] == area {
			continue // the whole world is four cells
		}
		areas = append(areas, area)
	}
	return areas
}

// A geoGrid divides the world into cells, 1<<bits in each direction.
type geoGrid struct{ bits int }

func (g geoGrid) long(cell uint32) float64 { return edgeOf(cell, geoLong, g.bits) }

func (g geoGrid) lat(cell uint32) float64 { return edgeOf(cell, geoLat, g.bits) }

// move goes to the next cell or the one before, around the world.
func (g geoGrid) move(cell uint32, by int) uint32 {
	if by == 0 {
		return cell
	}
	return (cell + uint32(by)) & (1<<g.bits - 1)
}

// geoPrecision is how many bits of each coordinate make a cell of about this size.
func geoPrecision(metres, lat float64) int {
	if metres == 0 {
		return geoBits
	}
	bits := -1
	for ; metres < 20037726.37; metres *= 2 { // half the equator of Web Mercator
		bits++
	}
	if math.Abs(lat) > 66 {
		bits--
	}
	if math.Abs(lat) > 80 {
		bits--
	}
	return max(1, min(bits, geoBits))
}

func (q geoQuery) reply(results []found) reply.Value {
	values := make([]reply.Value, len(results))
	for i, f := range results {
		one := []reply.Value{bulk(f.member)}
		if q.withDist {
			one = append(one, metres(f.distance))
		}
		if q.withHash {
			one = append(one, integer(int64(f.score)))
		}
		if q.withCoord {
			one = append(one, f.at.reply())
		}
		if values[i] = one[0]; len(one) > 1 {
			values[i] = array(one)
		}
	}
	return array(values)
}

// georadiusTarget finds the key behind STORE or STOREDIST.
func georadiusTarget(args []string) (keys []string) {
	at := 6
	if is(args[0], "georadiusbymember") {
		at = 5
	}
	for i := at; i+1 < len(args); i++ {
		if is(args[i], "store") || is(args[i], "storedist") {
			keys = []string{args[i+1]} // the last counts
			i++
		}
	}
	return keys
}
