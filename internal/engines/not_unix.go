//go:build !unix

package engines

import (
	"errors"
	"os"
)

func tryLockFile(string) (unlock func(), locked bool, err error) {
	return nil, false, errors.New("RLFUNC_ENGINE_POOL is used on unix systems only")
}

func pauseProcess(*os.Process) error  { return errors.ErrUnsupported }
func resumeProcess(*os.Process) error { return errors.ErrUnsupported }
