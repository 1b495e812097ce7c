//go:build !unix

package engines

import "errors"

// lockFile: without a lock two test packages would empty each other's server.
func lockFile(string) (unlock func(), err error) {
	return nil, errors.New("REDIS_URL is used on unix systems only")
}

func tryLockFile(string) (unlock func(), locked bool, err error) {
	return nil, false, errors.New("RLFUNC_ENGINE_POOL is used on unix systems only")
}
