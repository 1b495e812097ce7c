package functions_test

import (
	"fmt"
	"io/fs"

	"github.com/rlfunc/rlfunc/functions"
)

func Example() {
	files, err := fs.Glob(functions.FS, "challenge/*.lua")
	fmt.Println(files, err)
	// Output: [challenge/consume.lua challenge/issue.lua challenge/library.lua challenge/peek.lua] <nil>
}
