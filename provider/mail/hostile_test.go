package mail_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"stayledger/platform/hostile"
	"stayledger/provider/mail"
)

// A server that talks for ever, fast or slowly, is given up in the time of a message, with little memory. The message
// can be sent again.
func TestHostileServersAreGivenUp(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	for name, c := range map[string]struct { //nolint:paralleltest // It counts what the process allocates.
		start, unit string
		pause       time.Duration
	}{
		"an answer without a last line": {unit: "220-go on\r\n"},
		"a line without an end":         {start: "220 ", unit: "x"},
		"an EHLO without a last line":   {start: "220 loopback\r\n", unit: "250-EXT\r\n"},
		"a byte at a time":              {start: "220-", unit: "x", pause: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			port := talk(t, c.start, c.unit, c.pause)

			s, err := mail.NewSMTP(mail.SMTPConfig{Host: "127.0.0.1", Port: port, From: "statements@stay.example", Plain: true, Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}

			hostile.Bound(t, 3*time.Second, 16<<20, func() {
				if err := s.Send(t.Context(), message()); err == nil || errors.Is(err, mail.ErrRefused) {
					t.Errorf("failed with %v", err)
				}
			})
		})
	}
}

// talk returns the port of a server that says a beginning and then a unit for ever, with a pause after each, or else as
// fast as it can.
func talk(t *testing.T, start, unit string, pause time.Duration) int {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })

	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}

		defer func() { _ = c.Close() }()

		part := []byte(unit)
		if pause == 0 {
			part = bytes.Repeat(part, 4096)
		}

		for _, err = io.WriteString(c, start); err == nil; _, err = c.Write(part) {
			time.Sleep(pause)
		}
	}()

	return l.Addr().(*net.TCPAddr).Port
}
