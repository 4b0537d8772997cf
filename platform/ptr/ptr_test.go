package ptr_test

import (
	"fmt"

	"stayledger/platform/ptr"
)

func Example() {
	name := "Anna"
	fmt.Printf("%q %q\n", ptr.Value(&name), ptr.Value[string](nil))
	// Output: "Anna" ""
}
