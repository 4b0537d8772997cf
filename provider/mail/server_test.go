package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a mail server on the loopback that a test can script: answers by command, and what to do instead of
// answering.
type server struct {
	t        testing.TB
	listener net.Listener
	// Answers replaces the answer to a command, by its first word ("RCPT", "DATA", "." for the end of the content).
	answers map[string]string
	// Hang and drop name the command at which the server falls silent, or cuts the connection; "greeting" is the first
	// line.
	hang, drop string
	implicit   bool
	noTLS      bool
	tls        *tls.Config
	roots      *x509.CertPool

	mu    sync.Mutex
	got   []string // contents
	lines []string // commands
	conns []net.Conn
}

func serve(t testing.TB, script func(*server)) *server {
	t.Helper()
	s := &server{t: t, answers: map[string]string{}}

	s.tls, s.roots = certificate(t)
	if script != nil {
		script(s)
	}

	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}

			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			group.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		group.Wait()
	})

	return s
}

func (s *server) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// talk holds one conversation.
func (s *server) talk(c net.Conn) {
	defer func() { _ = c.Close() }()

	if s.implicit {
		c = tls.Server(c, s.tls)
	}

	in := bufio.NewReader(c)

	secure := s.implicit
	if !s.say(c, "greeting", "220 loopback ESMTP") {
		return
	}

	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}

		line = strings.TrimRight(line, "\r\n")

		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()

		command := strings.ToUpper(strings.Fields(line + " x")[0])
		answer := "250 OK"

		switch command {
		case "EHLO":
			answer = "250-loopback\r\n250-8BITMIME\r\n250-AUTH PLAIN LOGIN"
			if !secure && !s.noTLS {
				answer += "\r\n250-STARTTLS"
			}

			answer += "\r\n250 ENHANCEDSTATUSCODES"
		case "STARTTLS":
			answer = "220 go ahead"
		case "AUTH":
			answer = "235 2.7.0 welcome"
		case "DATA":
			answer = "354 go on"
		case "QUIT":
			answer = "221 bye"
		}

		if !s.say(c, command, answer) || command == "QUIT" {
			return
		}

		switch {
		case command == "STARTTLS":
			c, secure = tls.Server(c, s.tls), true
			in = bufio.NewReader(c)
		case command == "DATA" && s.answers["DATA"] == "":
			if !s.take(c, in) {
				return
			}
		}
	}
}

func (s *server) take(c net.Conn, in *bufio.Reader) bool {
	var content strings.Builder

	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}

		if line == ".\r\n" {
			break
		}

		content.WriteString(strings.TrimPrefix(line, "."))
	}

	s.mu.Lock()
	s.got = append(s.got, content.String())
	s.mu.Unlock()

	return s.say(c, ".", "250 2.0.0 queued")
}

func (s *server) say(c net.Conn, command, answer string) bool {
	switch command {
	case s.drop:
		return false
	case s.hang:
		_, _ = c.Read(make([]byte, 1)) // until the other side gives up
		return false
	}

	if other := s.answers[command]; other != "" {
		answer = other
	}

	_, err := c.Write([]byte(answer + "\r\n"))

	return err == nil
}

// received are the contents taken so far.
func (s *server) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]string{}, s.got...)
}

// said reports whether a client sent a line that starts so.
func (s *server) said(prefix string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, l := range s.lines {
		if strings.HasPrefix(l, prefix) {
			return true
		}
	}

	return false
}

func certificate(t testing.TB) (*tls.Config, *x509.CertPool) {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "loopback"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}

	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}

	pool := x509.NewCertPool()
	pool.AddCert(parsed)

	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, pool
}
