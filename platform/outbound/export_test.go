package outbound

import "net/http"

// Network returns the transport below a client's refusals, nil for another one.
func Network(c *http.Client) *http.Transport {
	o, _ := c.Transport.(outsideOnly)
	return o.Transport
}
