package mail_test

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"stayledger/provider/mail"
)

var written = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func message() mail.Message {
	return mail.Message{
		Key: "statement.owner.1", Date: written, To: "ada@example.com", ToName: "Ada Åkesson", ReplyTo: "desk@example.com",
		From: "Seaside Stays", Subject: "Your statement", Text: "Hello Ada,\n.\nread it: https://books.example.com/owner#x\n", HTML: "<p>Hello Ada,</p>",
	}
}

// sender talks to the test's server with STARTTLS unless the change says otherwise.
func sender(t *testing.T, s *server, change func(*mail.SMTPConfig)) *mail.SMTP {
	t.Helper()

	c := mail.SMTPConfig{Host: "127.0.0.1", Port: s.port(), From: "statements@stay.example", Roots: s.roots, Timeout: 5 * time.Second}
	if change != nil {
		change(&c)
	}

	out, err := mail.NewSMTP(c)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

func TestAMessageArrivesWhole(t *testing.T) {
	t.Parallel()

	for name, implicit := range map[string]bool{"STARTTLS": false, "TLS from the start": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(s *server) { s.implicit = implicit })

			to := sender(t, s, func(c *mail.SMTPConfig) { c.Implicit, c.Username, c.Password = implicit, "desk", "secret word" })
			if err := to.Send(t.Context(), message()); err != nil {
				t.Fatal(err)
			}

			if !s.said("AUTH PLAIN") || !s.said("MAIL FROM:<statements@stay.example>") || !s.said("RCPT TO:<ada@example.com>") {
				t.Errorf("the conversation was %q", s.lines)
			}

			got := s.received()
			if len(got) != 1 {
				t.Fatalf("%d messages arrived", len(got))
			}

			m, err := netmail.ReadMessage(strings.NewReader(got[0]))
			if err != nil {
				t.Fatal(err)
			}

			for header, want := range map[string]string{
				"Message-Id": "<statement.owner.1@stay.example>", "From": `"Seaside Stays" <statements@stay.example>`, "Reply-To": "<desk@example.com>",
				"Subject": "Your statement", "Date": "Tue, 03 Feb 2026 04:05:06 +0000", "Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "",
			} {
				if have := m.Header.Get(header); have != want {
					t.Errorf("%s is %q, want %q", header, have, want)
				}
			}

			if to, err := m.Header.AddressList("To"); err != nil || len(to) != 1 || to[0].Name != "Ada Åkesson" || to[0].Address != "ada@example.com" {
				t.Errorf("To is %v, %v", to, err)
			}

			if texts := parts(t, m); texts["text/plain"] != "Hello Ada,\r\n.\r\nread it: https://books.example.com/owner#x\r\n" || texts["text/html"] != "<p>Hello Ada,</p>" {
				t.Errorf("it reads %q", texts)
			}
		})
	}
}

// parts are the texts of a message by content type.
func parts(t *testing.T, m *netmail.Message) map[string]string {
	t.Helper()

	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{}

	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}

		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}

		kind, _, _ := strings.Cut(p.Header.Get("Content-Type"), ";")
		out[kind] = string(text)
	}
}

// Text of names and subjects stays in its header, and an address that is not exactly one is refused before the server
// hears of it.
func TestNothingCanBeSmuggledIntoAHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	to := sender(t, s, nil)
	m := message()

	m.ToName, m.From, m.Subject = "Ada\r\nBcc: eve@example.com", "Stays\nX-Evil: 1\x00", "Hi\r\n\r\n<script>\u2028X-Evil: 1"
	if err := to.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}

	got, err := netmail.ReadMessage(strings.NewReader(s.received()[0]))
	if err != nil {
		t.Fatal(err)
	}

	if got.Header.Get("Bcc") != "" || got.Header.Get("X-Evil") != "" || got.Header.Get("Subject") == "Hi" {
		t.Errorf("headers %v", got.Header)
	}

	if people, err := got.Header.AddressList("To"); err != nil || len(people) != 1 || people[0].Address != "ada@example.com" {
		t.Errorf("To is %v, %v", people, err)
	}

	for name, change := range map[string]func(*mail.Message){
		"two recipients":     func(m *mail.Message) { m.To = "ada@example.com, eve@example.com" },
		"a name":             func(m *mail.Message) { m.To = "Ada <ada@example.com>" },
		"a line break":       func(m *mail.Message) { m.To = "ada@example.com\r\nRCPT TO:<eve@example.com>" },
		"a trailing newline": func(m *mail.Message) { m.To = "ada@example.com\n" },
		"a bracket":          func(m *mail.Message) { m.To = "ada@example.com> SIZE=1" },
		"nobody":             func(m *mail.Message) { m.To = "" },
		"a reply elsewhere":  func(m *mail.Message) { m.ReplyTo = "desk@example.com\r\nBcc: eve@example.com" },
		"a key":              func(m *mail.Message) { m.Key = "a>\r\nBcc: eve@example.com" },
		"no key":             func(m *mail.Message) { m.Key = "" },
		"a path for a key":   func(m *mail.Message) { m.Key = "../../x" },
		"no date":            func(m *mail.Message) { m.Date = time.Time{} },
	} {
		m := message()
		change(&m)

		if err := to.Send(t.Context(), m); !errors.Is(err, mail.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if len(s.received()) != 1 || s.said("RCPT TO:<eve") {
		t.Errorf("the server was told %q", s.lines)
	}
}

func TestRefusalsAreFinalOnlyWhenTheMessageIsRefused(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		script func(*server)
		final  bool
	}{
		"unknown recipient":     {func(s *server) { s.answers["RCPT"] = "550 5.1.1 no such user" }, true},
		"content refused":       {func(s *server) { s.answers["."] = "554 5.7.1 looks like spam" }, true},
		"mailbox full":          {func(s *server) { s.answers["RCPT"] = "452 4.2.2 mailbox full" }, false},
		"busy":                  {func(s *server) { s.answers["."] = "451 4.3.0 later" }, false},
		"our address refused":   {func(s *server) { s.answers["MAIL"] = "550 5.7.1 not yours" }, false},
		"our password refused":  {func(s *server) { s.answers["AUTH"] = "535 5.7.8 no" }, false},
		"closed for today":      {func(s *server) { s.answers["greeting"] = "421 closed" }, false},
		"no TLS to be had":      {func(s *server) { s.noTLS = true }, false},
		"cut at the greeting":   {func(s *server) { s.drop = "greeting" }, false},
		"cut at the recipient":  {func(s *server) { s.drop = "RCPT" }, false},
		"cut before the answer": {func(s *server) { s.drop = "." }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.script)
			to := sender(t, s, func(c *mail.SMTPConfig) { c.Username, c.Password = "desk", "secret word" })

			err := to.Send(t.Context(), message())
			if err == nil || errors.Is(err, mail.ErrRefused) != test.final || strings.Contains(err.Error(), "secret word") {
				t.Errorf("got %v", err)
			}

			if s.noTLS && s.said("AUTH") {
				t.Error("the password went over an open line")
			}
		})
	}
}

// A server that took the message and then falls over has it.
func TestAMessageThatWasTakenIsSent(t *testing.T) {
	t.Parallel()

	for _, drop := range []string{"RSET", "QUIT"} {
		s := serve(t, func(s *server) { s.drop = drop })
		if err := sender(t, s, nil).Send(t.Context(), message()); err != nil || len(s.received()) != 1 {
			t.Errorf("cut at %s: %v", drop, err)
		}
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()

	for _, hang := range []string{"greeting", "EHLO", "STARTTLS", "RCPT", "DATA", "."} {
		t.Run(hang, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(s *server) { s.hang = hang })
			began := time.Now()

			err := sender(t, s, func(c *mail.SMTPConfig) { c.Timeout = 300 * time.Millisecond }).Send(t.Context(), message())
			if took := time.Since(began); err == nil || errors.Is(err, mail.ErrRefused) || took > 3*time.Second {
				t.Errorf("after %s: %v", took, err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(200*time.Millisecond, cancel)

			began = time.Now()

			err = sender(t, s, nil).Send(ctx, message())
			if took := time.Since(began); err == nil || took > 3*time.Second {
				t.Errorf("a worker that stops waited %s: %v", took, err)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	to := sender(t, s, nil)
	_ = s.listener.Close()

	if err := to.Send(t.Context(), message()); err == nil || errors.Is(err, mail.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestACertificateThatNobodyVouchesForIsRefused(t *testing.T) {
	t.Parallel()

	for _, implicit := range []bool{false, true} {
		s := serve(t, func(s *server) { s.implicit = implicit })

		to := sender(t, s, func(c *mail.SMTPConfig) { c.Roots, c.Implicit = nil, implicit })
		if err := to.Send(t.Context(), message()); err == nil || len(s.received()) != 0 || s.said("MAIL") {
			t.Errorf("implicit %v: %v", implicit, err)
		}
	}
}

func TestAServerOnTheSameMachineMayDoWithoutTLS(t *testing.T) {
	t.Parallel()
	s := serve(t, func(s *server) { s.noTLS = true })

	to := sender(t, s, func(c *mail.SMTPConfig) { c.Plain, c.Username, c.Password = true, "desk", "secret" })
	if err := to.Send(t.Context(), message()); err != nil || len(s.received()) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestAddressesOfMailServers(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]mail.SMTPConfig{
		"smtp://mail.example.com":                {Host: "mail.example.com", Port: 587},
		"smtp://desk:p%40ss@mail.example.com:25": {Host: "mail.example.com", Port: 25, Username: "desk", Password: "p@ss"},
		"smtps://desk:x@mail.example.com/":       {Host: "mail.example.com", Port: 465, Username: "desk", Password: "x", Implicit: true},
		"smtp://127.0.0.1:1025?tls=none":         {Host: "127.0.0.1", Port: 1025, Plain: true},
		"smtp://[::1]:1025?tls=none":             {Host: "::1", Port: 1025, Plain: true},
		"smtp://localhost:1025?tls=none":         {Host: "localhost", Port: 1025, Plain: true},
	} {
		want.From = "desk@example.com"
		if got, err := mail.ParseSMTP(text, want.From); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}

	for _, text := range []string{
		"", "mail.example.com:25", "http://mail.example.com", "smtp://", "smtp://mail.example.com?tls=none", "smtp://10.0.0.1?tls=none",
		"smtps://127.0.0.1?tls=none", "smtp://mail.example.com?tls=off", "smtp://127.0.0.1?tls=none&x=1", "smtp://h:0", "smtp://h:70000", "smtp://h/inbox", "smtp://u:hunter2@h:%zz",
	} {
		if got, err := mail.ParseSMTP(text, "desk@example.com"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}

	for _, from := range []string{"", "Desk <desk@example.com>", "desk", "a@b\r\nc"} {
		if _, err := mail.ParseSMTP("smtp://mail.example.com", from); err == nil {
			t.Errorf("from %q passes", from)
		}
	}
}
