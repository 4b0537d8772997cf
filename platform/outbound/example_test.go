package outbound_test

import (
	"fmt"
	"net/netip"

	"stayledger/platform/outbound"
)

func Example() {
	for _, text := range []string{"2606:4700::1111", "169.254.169.254", "fec0::1"} {
		fmt.Println(text, outbound.Public(netip.MustParseAddr(text)))
	}
	// Output:
	// 2606:4700::1111 true
	// 169.254.169.254 false
	// fec0::1 false
}
