// Package doctor finds problems and risks of a target's servers. Each finding has a fix.
//
// [Known] lists the known faults of versions of Redis and Valkey. Each was observed on the listed versions, or its maker
// published a fix. A distribution may have fixed an older version, so a finding is a reason to check, not a proof.
package doctor
