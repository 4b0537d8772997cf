package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"stayledger/platform/inside"
	"stayledger/platform/outbound"
)

func TestPublic(t *testing.T) {
	t.Parallel()

	refused := strings.FieldsSeq(`
		0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255 168.63.129.16 169.254.0.0
		169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.192 192.0.0.255 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1
		192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
		:: ::1 ::8.8.8.8 ::10.0.0.1 ::127.0.0.1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:8.8.8.8 ::ffff:0:127.0.0.1
		64:ff9b::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff 100::1 100:0:0:1::1 1fff:ffff::1
		2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1
		2002::1 2002:7f00:1::1 2002:a9fe:a9fe::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 8000::1
		fc00::1 fd00:ec2::254 fdff::1 fe00::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 fec0::7f00:1 feff::1 ff00::1 ff02::1 ffff::1`)
	for text := range refused {
		if outbound.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s passes for public", text)
		}
	}

	for text := range strings.FieldsSeq(`
		1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255
		169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
		::ffff:8.8.8.8 2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700::1111 2a00:1450:4001::200e 3ffe:ffff::1 3fff:1000::1`) {
		if !outbound.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s does not pass for public", text)
		}
	}

	if outbound.Public(netip.Addr{}) {
		t.Error("no address at all passes for public")
	}
}

// FuzzPublic holds the filter to what net/netip knows, and an address that carries an IPv4 address to the one it
// carries.
func FuzzPublic(f *testing.F) {
	for _, text := range []string{"10.0.0.1", "8.8.8.8", "::1", "fec0::1", "::ffff:0:10.0.0.1", "2001:4860::1", "64:ff9b::1"} {
		f.Add(netip.MustParseAddr(text).AsSlice())
	}

	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}

		if !outbound.Public(a) {
			return
		}

		if a.IsPrivate() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.IsUnspecified() || !a.IsGlobalUnicast() {
			t.Errorf("%s passes for public", a)
		}

		if mapped := netip.AddrFrom16(a.As16()); !outbound.Public(mapped) {
			t.Errorf("%s is public and %s is not", a, mapped)
		}

		bytes := a.As16()
		if a.Is6() && !a.Is4In6() && bytes[0]>>5 != 1 {
			t.Errorf("%s passes for public outside the block that is given out", a)
		}
	})
}

func TestClientCallsPublicAddressesOnly(t *testing.T) {
	t.Parallel()

	var calls atomic.Int32

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(server.Close)

	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:0:127.0.0.1]", "[fec0::1]", "[::127.0.0.1]", "0.0.0.0"} {
		if _, err := get(t, outbound.Client(false), "http://"+host+":"+port); !errors.Is(err, outbound.ErrNotPublic) {
			t.Errorf("%s: %v", host, err)
		}
	}

	if calls.Load() != 0 {
		t.Errorf("%d calls came through", calls.Load())
	}

	status, err := get(t, outbound.Client(true), server.URL)
	if err != nil || status != http.StatusFound || calls.Load() != 1 {
		t.Errorf("where private addresses are allowed: %d, %v, %d calls: a redirect is not followed", status, err, calls.Load())
	}
}

// The proxies of the environment would get the address after the check.
func TestClientIgnoresProxies(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")

	for _, private := range []bool{false, true} {
		network := outbound.Network(outbound.Client(private))
		if network == nil || network.Proxy != nil {
			t.Errorf("private %t: the client asks for a proxy", private)
		}
	}
}

// Nothing is called, and no name looked up, from inside a transaction.
func TestNothingIsCalledInsideATransaction(t *testing.T) {
	t.Parallel()

	ctx := inside.Transaction(t.Context())

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := outbound.Client(true).Do(r); !errors.Is(err, inside.ErrTransaction) { //nolint:bodyclose // There is no answer.
		t.Errorf("a call: %v", err)
	}

	if _, err := outbound.LookUp(ctx, "localhost"); !errors.Is(err, inside.ErrTransaction) {
		t.Errorf("a name: %v", err)
	}
}

func get(t *testing.T, c *http.Client, address string) (int, error) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}

	_ = answer.Body.Close()

	return answer.StatusCode, nil
}

// A cause names no address, and only what is known of it.
func TestCause(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ err, want error }{
		{fmt.Errorf("dial 10.0.0.1: %w", context.Canceled), context.Canceled},
		{fmt.Errorf("dial 10.0.0.1: %w", context.DeadlineExceeded), outbound.ErrTimeout},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, outbound.ErrTimeout},
		{fmt.Errorf("dial: %w", outbound.ErrNotPublic), outbound.ErrNotPublic},
		{errors.New("connection refused"), nil},
	} {
		if got := outbound.Cause(c.err); !errors.Is(got, c.want) || (c.want == nil) != (got == nil) {
			t.Errorf("%v: cause is %v, want %v", c.err, got, c.want)
		}
	}
}

func TestTextsOfProviders(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][2]bool{
		"": {false, false}, "R01": {true, true}, "a.b-c_d": {true, true}, "a b": {false, false}, "<b>": {true, false},
		"é": {false, false}, "123456789": {false, false}, "\x00": {false, false},
	} {
		if outbound.Printable(text, 8) != want[0] || outbound.IsCode(text, 8) != want[1] {
			t.Errorf("%q: printable, code are %v, %v, want %v", text, outbound.Printable(text, 8), outbound.IsCode(text, 8), want)
		}
	}
}
