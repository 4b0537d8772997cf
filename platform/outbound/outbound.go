// Package outbound is how this service calls addresses that its users choose: payment providers, feeds, webhooks.
//
// Users who choose an address must not reach the machines next to ours with it. The filter checks the number that is
// about to be dialed, after names were resolved, so a name cannot change between a check and a call.
// Redirects are not followed and the proxies of the environment are ignored: both would call something that was not
// checked.
//
// The page docs/decisions/outbound.md says how much is read of what other machines answer and send.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"stayledger/platform/inside"
)

// ErrNotPublic is the refusal of an address that only machines near us can reach. Its text names no address and can be
// shown.
var ErrNotPublic = errors.New("address is not public")

// perHost is how many idle connections are kept to one host; batches send that many requests at a time.
const perHost = 4

// The connections are shared: a new client costs nothing.
var (
	publicNetwork  = sync.OnceValue(func() *http.Transport { return transport(refusePrivate) })
	privateNetwork = sync.OnceValue(func() *http.Transport { return transport(nil) })
)

// Client calls public addresses only; a call of another one fails with ErrNotPublic. With allowPrivate, which is the
// operator's choice and never a team's, it calls every address. Timeouts are the business of each call's context.
func Client(allowPrivate bool) *http.Client {
	network := publicNetwork
	if allowPrivate {
		network = privateNetwork
	}

	return &http.Client{
		Transport:     outsideOnly{network()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// outsideOnly refuses calls from inside a transaction.
type outsideOnly struct{ *http.Transport }

// RoundTrip makes a call. It fails with inside.ErrTransaction.
func (o outsideOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	// Every call to addresses of users comes through here.
	if err := inside.Check(r.Context()); err != nil {
		return nil, err //nolint:wrapcheck // The client adds the address.
	}

	return o.Transport.RoundTrip(r) //nolint:wrapcheck // The client does.
}

// transport returns an HTTP transport with a filter for every connection.
func transport(control func(ctx context.Context, network, address string, c syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: control}

	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	// The address has a number by now, whatever name it had.
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return ErrNotPublic
	}

	return nil
}

// Public reports whether an address is on the public Internet. An IPv6 address for an IPv4 address of this
// machine's own network stack (::ffff:a.b.c.d) is checked as the latter. Every other form that contains an IPv4
// address (6to4, NAT64, Teredo, translated and compatible addresses) is refused, because a gateway decides where it
// leads.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.Is6() && !allocated.Contains(a) {
		return false
	}

	for _, block := range special {
		if block.Contains(a) {
			return false
		}
	}

	return true
}

// allocated is the block that IANA gives out as global unicast. Everything else of IPv6 is local, multicast, translated
// or reserved, such as ::/96, ::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48, 100::/64, 5f00::/16, fc00::/7, fe80::/10,
// fec0::/10 and ff00::/8.
var allocated = netip.MustParsePrefix("2000::/3")

// special are the blocks of the IANA registries of special-purpose addresses (RFC 6890), for IPv6 those within the
// allocated block, and the few others that lead to a machine near the caller.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private use
	"100.64.0.0/10",   // shared by carriers
	"127.0.0.0/8",     // loopback
	"168.63.129.16",   // the host of a machine at Azure
	"169.254.0.0/16",  // link-local, metadata of clouds
	"172.16.0.0/12",   // private use
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.31.196.0/24", // AS112, anycast to a node that can be ours
	"192.52.193.0/24", // automatic multicast tunnels, anycast
	"192.88.99.0/24",  // relays of 6to4, anycast
	"192.168.0.0/16",  // private use
	"192.175.48.0/24", // AS112
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast

	"2001::/23",         // protocol assignments, Teredo first of all
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

// prefixes parses addresses and prefixes. It panics on a malformed one.
func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		if single, err := netip.ParseAddr(text); err == nil {
			out[i] = netip.PrefixFrom(single, single.BitLen())
			continue
		}

		out[i] = netip.MustParsePrefix(text)
	}

	return out
}
