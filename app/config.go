// Package app assembles the service: configuration, endpoints, workers and the server. It is the only package that
// knows every other.
package app

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/provider/mail"
)

// Config holds every setting. Each but UncountedCalls is a flag and an environment variable of the same name, and is checked
// at the start.
type Config struct {
	DatabaseURL     string            `name:"database-url" env:"DATABASE_URL" help:"PostgreSQL 15 or later, as a role that owns its database and is no superuser."`
	Listen          string            `env:"STAYLEDGER_LISTEN" default:"127.0.0.1:8080" help:"Address to serve on."`
	PublicURL       string            `name:"public-url" env:"STAYLEDGER_PUBLIC_URL" help:"Own address as callers see it; http:// and the listen address when empty."`
	Regions         []string          `env:"STAYLEDGER_REGIONS" default:"us" help:"Data regions served here: ap, ca, eu, sa, us."`
	Elsewhere       map[string]string `env:"STAYLEDGER_ELSEWHERE" help:"Base addresses of regions served by other deployments, as region=https://address."`
	DataDir         string            `name:"data-dir" env:"STAYLEDGER_DATA_DIR" help:"Folder for stored files (and, for demo, its database). A fitting one is chosen when empty."`
	StoreURL        string            `name:"store-url" env:"STAYLEDGER_STORE_URL" help:"Object store for files, such as s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1; the data folder when empty."`
	StoreAccessKey  string            `name:"store-access-key" env:"STAYLEDGER_STORE_ACCESS_KEY" help:"Access key of the object store."`
	StoreSecretKey  string            `name:"store-secret-key" env:"STAYLEDGER_STORE_SECRET_KEY" help:"Secret key of the object store."`
	FallbackFonts   string            `name:"fallback-fonts" env:"STAYLEDGER_FALLBACK_FONTS" help:"TrueType files for what the embedded font lacks in PDFs (Arabic, Chinese, Japanese, Korean), separated as in PATH; those of the system when empty."`
	SecretKeys      []string          `name:"secret-keys" env:"STAYLEDGER_SECRET_KEYS" help:"Base64 keys of at least 32 bytes; the first signs cursors and links, all verify."`
	Workers         int               `env:"STAYLEDGER_WORKERS" default:"8" help:"Jobs of one team worked on at the same time, a quarter more for other teams; 0 leaves jobs to other processes."`
	MaxConnections  int32             `name:"max-connections" env:"STAYLEDGER_MAX_CONNECTIONS" default:"24" help:"Database connections of this process."`
	KeepOperations  time.Duration     `name:"keep-operations" env:"STAYLEDGER_KEEP_OPERATIONS" default:"9600h" help:"How long settled operations stay readable."`
	ShutdownGrace   time.Duration     `name:"shutdown-grace" env:"STAYLEDGER_SHUTDOWN_GRACE" default:"25s" help:"How long requests and jobs in hand may take to end at a stop, from the signal on."`
	DrainTime       time.Duration     `name:"drain-time" env:"STAYLEDGER_DRAIN_TIME" default:"5s" help:"How long requests are still taken at a stop, after /readyz has begun to answer 503; part of the grace."`
	LogLevel        string            `name:"log-level" env:"STAYLEDGER_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least severe line to log."`
	LocalProviders  bool              `name:"local-providers" env:"STAYLEDGER_LOCAL_PROVIDERS" help:"Let teams connect payment providers and webhooks at private addresses, such as the sandbox on this machine, and pages of http://localhost show embedded sessions."`
	ProviderTimeout time.Duration     `name:"provider-timeout" env:"STAYLEDGER_PROVIDER_TIMEOUT" default:"25s" help:"How long a payment provider may take to answer, at most 25s."`
	OAuthClients    map[string]string `name:"oauth-clients" env:"STAYLEDGER_OAUTH_CLIENTS" help:"Own registrations at apps to which account holders give access, as app=id:secret, such as ownerrez=c_1:s_2."`
	OAuthAddresses  map[string]string `name:"oauth-addresses" env:"STAYLEDGER_OAUTH_ADDRESSES" help:"Where such an app is when it is not the vendor itself, as app=https://address."`
	AppMessages     map[string]string `name:"app-messages" env:"STAYLEDGER_APP_MESSAGES" help:"Name and password with which an app sends the messages of all its accounts to /pms-messages/apps/{app}, as app=name:password."`
	SMTPURL         string            `name:"smtp-url" env:"STAYLEDGER_SMTP_URL" help:"Mail server, such as smtp://user:password@mail.example.com:587; messages become files in the data folder when empty."`
	MailFrom        string            `name:"mail-from" env:"STAYLEDGER_MAIL_FROM" help:"Address that messages come from, such as statements@example.com."`
	OTLPEndpoint    string            `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Collector of OpenTelemetry traces, such as http://127.0.0.1:4318; v1/traces is added. None when empty."`
	OTLPTraces      string            `name:"otlp-traces-endpoint" env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" help:"Whole address that traces are sent to, in place of --otlp-endpoint."`
	MetricsListen   string            `name:"metrics-listen" env:"STAYLEDGER_METRICS_LISTEN" help:"Address for operators alone, such as 127.0.0.1:9464: /metrics, /healthz and /readyz. None when empty."`
	// UncountedCalls are those to property-management systems, whatever their limits. A test against a sandbox sets it; no
	// flag does.
	UncountedCalls bool `kong:"-"`
	AdoptStore     bool `name:"adopt-store" env:"STAYLEDGER_ADOPT_STORE" help:"Use the file store that is set although it does not carry this database's marker, and mark it."`
}

// Check returns an error for the first setting that cannot work.
func (c *Config) Check() error {
	if c.DatabaseURL == "" {
		return errors.New("set DATABASE_URL (or --database-url) to a PostgreSQL 15 or later, or run `stayledger demo`, which brings its own")
	}

	if len(c.Regions) == 0 {
		return errors.New("--regions: name at least one data region")
	}

	// Regions, ours and those of other deployments.
	for _, r := range append(slices.Clone(c.Regions), regionNames(c.Elsewhere)...) {
		if !slices.Contains(access.Region("").Enum(), r) {
			return fmt.Errorf("--regions: %q is not one of ap, ca, eu, sa, us", r)
		}
	}

	for r, address := range c.Elsewhere {
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			return fmt.Errorf("--elsewhere: %s needs an address such as https://%s.example.com", r, r)
		}
	}

	// Limits of the process.
	if c.Workers < 0 || c.Workers > 1000 {
		return errors.New("--workers: between 0 and 1000")
	}

	if c.MaxConnections < 2 {
		return errors.New("--max-connections: at least 2")
	}

	if c.DrainTime < 0 || c.DrainTime > 0 && c.DrainTime >= c.ShutdownGrace {
		return errors.New("--drain-time: less than --shutdown-grace")
	}

	// Links and pages need our own address.
	if c.PublicURL == "" {
		c.PublicURL = "http://" + c.Listen
	}

	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" {
		return errors.New("--public-url: not an address such as https://books.example.com")
	}

	if _, err := c.keys(); err != nil {
		return err
	}

	if err := c.checkStore(); err != nil {
		return err
	}

	return c.checkMail()
}

// checkMail fails if mail is configured with a malformed server or sender.
func (c *Config) checkMail() error {
	if c.SMTPURL == "" {
		return nil
	}

	if _, err := mail.ParseSMTP(c.SMTPURL, c.MailFrom); err != nil {
		return fmt.Errorf("--smtp-url, --mail-from: %w", err)
	}

	return nil
}

// mail returns the sender of messages: the mail server, or a folder if none is set.
func (c *Config) mail(log *slog.Logger) (mail.Sender, error) {
	if c.SMTPURL != "" {
		settings, err := mail.ParseSMTP(c.SMTPURL, c.MailFrom)
		if err != nil {
			return nil, err
		}

		return mail.NewSMTP(settings)
	}

	from, folder := c.MailFrom, filepath.Join(c.DataDir, "mail")
	if from == "" {
		from = "stayledger@localhost"
	}

	log.Info("no mail server is set: messages become files", "folder", folder)

	return mail.NewFolder(folder, from)
}

// regionNames returns the keys of a map.
func regionNames(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}

	return out
}

// keys decodes the secret keys.
func (c *Config) keys() ([][]byte, error) {
	if len(c.SecretKeys) == 0 {
		return nil, errors.New("set STAYLEDGER_SECRET_KEYS (or --secret-keys) to a random key, such as the output of `openssl rand -base64 32`")
	}

	out := make([][]byte, 0, len(c.SecretKeys))
	for i, text := range c.SecretKeys {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) < 32 {
			return nil, fmt.Errorf("--secret-keys: key %d is not base64 of at least 32 bytes", i+1)
		}

		out = append(out, key)
	}

	return out, nil
}

// regions returns the base URLs of the regions that this process serves and of those served elsewhere.
func (c *Config) regions() (here, elsewhere map[access.Region]string) {
	here, elsewhere = map[access.Region]string{}, map[access.Region]string{}
	for _, r := range c.Regions {
		here[access.Region(r)] = c.PublicURL
	}

	for r, address := range c.Elsewhere {
		elsewhere[access.Region(r)] = strings.TrimSuffix(address, "/")
	}

	return here, elsewhere
}
