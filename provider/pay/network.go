package pay

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
)

// errPrivate is the refusal of an address that only machines near us can reach.
var errPrivate = errors.New("address is not public")

// The connections to providers are shared: opening a provider costs nothing.
var (
	publicNetwork  = sync.OnceValue(func() *http.Transport { return newNetwork(refusePrivate) })
	privateNetwork = sync.OnceValue(func() *http.Transport { return newNetwork(nil) })
)

// newNetwork ignores the proxies of the environment: the address that is checked must be the one that is called.
func newNetwork(control func(ctx context.Context, network, address string, c syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: control}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxIdleConns: 64, MaxIdleConnsPerHost: parallel, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// refusePrivate looks at the address that is about to be dialed, after names were resolved: teams choose the addresses of their providers, and
// must not reach the machines beside ours with them.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr().Unmap().WithZone("")) {
		return errPrivate
	}
	return nil
}

// reserved are the blocks that netip has no word for: this network, shared, protocol, test, benchmark and future addresses, and those that
// translate to IPv4.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

func public(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	return true
}
