package outbound

import (
	"context"
	"net"
	"net/netip"
)

// Lookup returns the addresses of a name as the name service of the machine knows them now. A call looks the name up again
// and checks what it finds then.
func Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name) //nolint:wrapcheck // The cause is no more than logged.
}
