package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"stayledger/platform/inside"
)

// Timeout is how long one message may take from the first packet to the last.
const Timeout = 25 * time.Second

// maxAnswers is how many bytes a server may say while it takes one message. The usual is some hundred.
const maxAnswers = 256 << 10

// SMTPConfig names a mail server. The connection is encrypted and the server's certificate is checked, unless Plain.
type SMTPConfig struct {
	Host     string
	Port     int
	Username string // empty: no authentication
	Password string
	// From is the sender's own address.
	From string
	// Implicit starts with TLS (port 465) instead of asking for it with STARTTLS.
	Implicit bool
	// Plain does without TLS, which is allowed only for a server on the same machine.
	Plain bool
	// Timeout of a message; zero means Timeout, and it is never longer.
	Timeout time.Duration
	// Roots are the authorities to trust; nil means the system's.
	Roots *x509.CertPool
}

var errAddress = errors.New("not an address such as smtp://user:password@mail.example.com:587 or smtps://…:465; " +
	"tls=none is for a server on the same machine")

// ParseSMTP reads the address of a mail server: smtp:// asks for TLS with STARTTLS (port 587 if none is named),
// smtps:// starts with it (port 465), smtp://…?tls=none does without and is refused for any host but this one. Its
// errors never quote the address, because it has a password.
func ParseSMTP(server, from string) (SMTPConfig, error) {
	c := SMTPConfig{From: from}

	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return c, errAddress
	}

	// The scheme decides about TLS and the default port.
	c.Host = u.Hostname()
	switch u.Scheme {
	case "smtp":
		c.Port = 587
	case "smtps":
		c.Port, c.Implicit = 465, true
	default:
		return c, errAddress
	}

	if text := u.Port(); text != "" {
		if c.Port, err = strconv.Atoi(text); err != nil {
			return c, errAddress
		}
	}

	// The only parameter is tls=none. Any other is refused: a misspelled one must not be ignored.
	query := u.Query()
	c.Plain = query.Get("tls") == "none"
	query.Del("tls")

	if len(query) > 0 || u.RawQuery != "" && !c.Plain {
		return c, errAddress
	}

	if u.User != nil {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
	}

	return c, c.checkConfig()
}

// checkConfig fails if the server or the sender's address cannot be used, and if TLS is left out for another machine.
func (c *SMTPConfig) checkConfig() error {
	if c.Host == "" || c.Port < 1 || c.Port > 65535 || c.Plain && (c.Implicit || !isLoopback(c.Host)) {
		return errAddress
	}

	if _, err := parseAddress(c.From); err != nil {
		return errors.New("the sender is not an address such as statements@example.com")
	}

	return nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// SMTP hands messages to a mail server, each over a connection of its own.
type SMTP struct{ config SMTPConfig }

// NewSMTP checks the settings and returns a sender. It does not connect.
func NewSMTP(c SMTPConfig) (*SMTP, error) {
	if err := c.checkConfig(); err != nil {
		return nil, fmt.Errorf("mail server: %w", err)
	}

	if c.Timeout <= 0 || c.Timeout > Timeout {
		c.Timeout = Timeout
	}

	return &SMTP{c}, nil
}

// Send delivers a message to the server. A message that the server accepted counts as sent, even if the connection
// failed afterwards.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	if err := inside.Check(ctx); err != nil {
		return fmt.Errorf("send mail: %w", err)
	}

	msg, err := m.compose(s.config.From)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()

	// The connection is needed here, to end it when the time is over.
	var opened net.Conn

	client, err := s.newClient(func(dialing context.Context, network, target string) (net.Conn, error) {
		var err error
		if opened, err = s.dialServer(dialing, network, target); err == nil {
			// The client knows no context once it is connected, and gives every step a deadline of its own.
			context.AfterFunc(ctx, func() { _ = opened.Close() })
		}

		return opened, err
	})
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}

	// An error after the server has accepted the message is no failure: another attempt would send it twice.
	err = client.DialAndSendWithContext(ctx, msg)
	switch {
	case err == nil || msg.IsDelivered():
		return nil
	case isFinal(err):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}

	return fmt.Errorf("send mail: %w", err)
}

var errTalkative = errors.New("the mail server says too much")

// briefConn fails once the server has said more than is left: the mail library keeps all lines of an answer.
type briefConn struct {
	net.Conn

	left int
}

// Read implements net.Conn.
func (c *briefConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTalkative
	}

	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n

	return n, err
}

// newClient returns a client of the mail library for one message, which connects with dial.
func (s *SMTP) newClient(dial gomail.DialContextFunc) (*gomail.Client, error) {
	c := &s.config

	options := []gomail.Option{
		gomail.WithPort(c.Port),
		gomail.WithTimeout(c.Timeout),
		gomail.WithTLSConfig(s.tlsConfig()),
		gomail.WithDialContextFunc(dial),
		gomail.WithoutNoop(),
	}
	switch {
	case c.Implicit:
		options = append(options, gomail.WithSSL())
	case c.Plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		// Without any setting TLS is mandatory: the library must not fall back to plain text.
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}

	if c.Username != "" {
		options = append(
			options,
			gomail.WithUsername(c.Username),
			gomail.WithPassword(c.Password),
			gomail.WithOpportunisticSMTPAuth(
				gomail.SMTPAuthSCRAMSHA256PLUS, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin),
		)
	}

	return gomail.NewClient(c.Host, options...)
}

// tlsConfig returns the TLS settings: the server's certificate must be for the host that was configured.
func (s *SMTP) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.config.Host, MinVersion: tls.VersionTLS12, RootCAs: s.config.Roots}
}

// dialServer connects to the server, with TLS from the start if it is implicit.
func (s *SMTP) dialServer(ctx context.Context, network, target string) (net.Conn, error) {
	plain, err := new(net.Dialer).DialContext(ctx, network, target)
	if err != nil {
		return nil, err
	}

	brief := &briefConn{Conn: plain, left: maxAnswers}
	if !s.config.Implicit {
		return brief, nil
	}

	// The mail library knows a connection with TLS by its type.
	secure := tls.Client(brief, s.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = brief.Close()
		return nil, err
	}

	return secure, nil
}

// isFinal reports whether the server refused this very message with a 5xx. A refusal before it knows the recipient
// (of our address, of our credentials) is a matter of settings that can be corrected.
func isFinal(err error) bool {
	sent, ok := errors.AsType[*gomail.SendError](err)
	if !ok || sent.ErrorCode() < 500 {
		return false
	}

	switch sent.Reason { //nolint:exhaustive // the steps at which a server judges the message
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return true
	default:
		return false
	}
}
