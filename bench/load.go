package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// client keeps one connection open and sends requests that are ready to send. The less a client costs, the more of
// the measured time is the server's.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	address string
	secret  string
	team    string // that is selected; empty where the key has one
}

// dial opens a connection to a server.
func dial(ctx context.Context, address, secret string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}

	return &client{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), address: address, secret: secret}, nil
}

// close closes the connection.
func (c *client) close() { _ = c.conn.Close() }

// request returns the bytes of a request.
func (c *client) request(method, path, body string) []byte {
	selected := ""
	if c.team != "" {
		selected = "X-Team-Id: " + c.team + "\r\n"
	}

	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAccept: "+
		"application/json\r\nX-Api-Key: %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, c.address, c.secret, selected, len(body), body)
}

// send sends a request and returns the answer's body if keep is set. It fails for a status from 400 on.
func (c *client) send(request []byte, keep bool) (body []byte, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}

	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}

	defer func() { _ = response.Body.Close() }()

	// A failure names the request, since a measurement sends many different ones.
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body)
		asked, _, _ := bytes.Cut(request, []byte(" HTTP/"))

		return nil, fmt.Errorf("%s: status %d: %s", asked, response.StatusCode, text)
	}

	if keep {
		return io.ReadAll(response.Body)
	}

	_, err = io.Copy(io.Discard, response.Body)

	return nil, err
}

// rate returns how many requests a second clients get answered if they send the paths in turn for a time.
func rate(ctx context.Context, clients []*client, paths []string, length time.Duration) (float64, error) {
	var (
		group    sync.WaitGroup
		answered = make([]int, len(clients))
		failures = make([]error, len(clients))
	)

	begin := time.Now()

	for i, c := range clients {
		// Requests are made before they are sent, because making them would cost time of the measurement.
		requests := make([][]byte, len(paths))
		for n, path := range paths {
			requests[n] = c.request(http.MethodGet, path, "")
		}

		group.Go(func() {
			// Clients begin at different paths, so that they do not all read the same row.
			for n := i * len(requests) / len(clients); time.Since(begin) < length && ctx.Err() == nil; n++ {
				if _, failures[i] = c.send(requests[n%len(requests)], false); failures[i] != nil {
					return
				}

				answered[i]++
			}
		})
	}

	group.Wait()

	// The last requests may end after the time, so divide by the time that was really needed.
	took := time.Since(begin)
	total := 0

	for i := range clients {
		if failures[i] != nil {
			return 0, failures[i]
		}

		total += answered[i]
	}

	return float64(total) / took.Seconds(), ctx.Err()
}

// latencies returns how long one client waits for each answer, in milliseconds. It sends n requests, or as many as
// fit into a time if n is 0.
func latencies(ctx context.Context, c *client, request []byte, n int, length time.Duration) ([]float64, error) {
	var out []float64
	for begin := time.Now(); (n > 0 && len(out) < n || n == 0 && time.Since(begin) < length) && ctx.Err() == nil; {
		sent := time.Now()

		if _, err := c.send(request, false); err != nil {
			return nil, err
		}

		out = append(out, float64(time.Since(sent).Nanoseconds())/1e6)
	}

	return out, ctx.Err()
}

// dialAll opens n connections to a server.
func dialAll(ctx context.Context, n int, address, secret string) ([]*client, error) {
	clients := make([]*client, n)
	for i := range clients {
		var err error
		if clients[i], err = dial(ctx, address, secret); err != nil {
			return nil, err
		}
	}

	return clients, nil
}
