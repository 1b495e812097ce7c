// Package doctor tells what can go wrong with the servers of a target before it does: each finding has a fix.
//
// What is known about versions of Redis and Valkey stands in one table, [Known]: each row was seen on the versions that it names, or is
// a fix that their makers published. A distribution may have mended an older version; a finding is a reason to look, not a proof.
package doctor
