// Package agreed holds names and bounds that clients, policies, guard and cmd/rlfunc must agree on, as the Redis libraries use them.
package agreed

const (
	// Namespace begins every key, unless a client or a policy sets another one: all libraries have the same, so that a client of one sees what
	// guard or a client of another has stored.
	Namespace = "rl"
	// GlobalPrefix begins the subjects of global limits, such as "global/all". No identity has such a subject.
	GlobalPrefix = "global/"
	// GlobalAccount is what follows GlobalPrefix in the subject of budgets of all requests.
	GlobalAccount = "cost"
	// OverridesSubject is the bucket of library override for a namespace. No request has it as a subject.
	OverridesSubject = "overrides"

	// MaxLimit is the largest limit, burst, cost or weight: sums of a few thousand of them are exact in Redis, where numbers are to 2^53.
	MaxLimit = 1_000_000_000_000
	// MaxStored is the largest limit of the kinds that store each request: sliding_log and concurrency.
	MaxStored = 1_000_000
	// MaxFactor is the largest factor of an override.
	MaxFactor = 1_000_000
	// MaxBudget is the largest budget of money, in millionths.
	MaxBudget = 1_000_000_000 * 1_000_000
	// MaxUnits is the largest budget of another unit, in millionths.
	MaxUnits = 1_000_000_000_000 * 1_000_000
)

// LimitName returns the name of a limit in Redis and in refusals: ENDPOINT/LIMIT, or LIMIT if endpoint is "".
func LimitName(endpoint, limit string) string {
	if endpoint == "" {
		return limit
	}
	return endpoint + "/" + limit
}

// MaxOf returns the largest limit of a kind.
func MaxOf[Kind ~string](kind Kind) int64 {
	if kind == "sliding_log" || kind == "concurrency" {
		return MaxStored
	}
	return MaxLimit
}

// MultiplyLimit returns limit*factor, or the largest limit of its kind if that is less: run-time overrides are set without regard to limits.
func MultiplyLimit[Kind ~string](kind Kind, limit, factor int64) int64 {
	return multiply(limit, factor, MaxOf(kind))
}

// RaiseBudget returns budget*factor+more, or the largest budget of the unit if that is less. Of a unit, all are whole ones.
func RaiseBudget[Micros ~int64](unit string, budget Micros, factor int64, more Micros) Micros {
	most := int64(MaxBudget)
	if unit != "" {
		most = MaxUnits / 1_000_000
	}
	raised := multiply(int64(budget), factor, most)
	return Micros(raised + min(int64(more), most-raised))
}

func multiply(n, factor, most int64) int64 {
	if n > most/factor {
		return most
	}
	return n * factor
}
