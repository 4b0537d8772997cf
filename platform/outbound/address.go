package outbound

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"stayledger/platform/inside"
)

// lookupTime is how long a caller waits for the addresses of a name.
const lookupTime = 3 * time.Second

// Lookup returns the addresses of the name of a machine as they are known now. A call looks the name up again and checks
// what it finds then.
type Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

// LookUp is the Lookup of the machine's name service.
func LookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	if err := inside.Check(ctx); err != nil {
		return nil, err //nolint:wrapcheck // It is a defect, and says so.
	}

	return net.DefaultResolver.LookupNetIP(ctx, "ip", name) //nolint:wrapcheck // The cause is no more than logged.
}

// Permits reports whether users may have an address called: it has the scheme https, and its host is a name or a public
// IP address. With private, it also permits hosts of private networks, and http on this machine. What is behind a name
// is checked by IsPublic, and again by each call.
func Permits(u *url.URL, private bool) bool {
	host := u.Hostname()
	near := IsLocal(host)

	if ip, err := netip.ParseAddr(host); err == nil {
		near = !Public(ip)
	}

	return u.Scheme == "https" && (!near || private) || u.Scheme == "http" && private && IsLocal(host)
}

// IsLocal reports whether a host is this machine.
func IsLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}

	name := strings.ToLower(strings.TrimSuffix(host, "."))

	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// IsPublic reports whether a host has a public address, or addresses that are not known: an unknown name may be
// registered later. Calls to any other host are refused. It asks the name service, so it must run outside any
// transaction.
func (l Lookup) IsPublic(ctx context.Context, host string) bool {
	ctx, stop := context.WithTimeout(ctx, lookupTime)
	defer stop()

	found, err := l(ctx, host)

	return err != nil || len(found) == 0 || slices.ContainsFunc(found, Public)
}
