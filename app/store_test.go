package app_test

import (
	"encoding/base64"
	"encoding/xml"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stayledger/app"
)

func configured(t *testing.T) app.Config {
	t.Helper()

	return app.Config{
		DatabaseURL: "postgres://nobody@127.0.0.1:1/none", Listen: "127.0.0.1:0", Regions: []string{"us"}, MaxConnections: 2, DataDir: t.TempDir(),
		SecretKeys: []string{base64.StdEncoding.EncodeToString(make([]byte, 32))},
	}
}

func TestStoreSettingsAreChecked(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ url, access, secret, says string }{
		"none":                    {"", "", "", ""},
		"whole":                   {"s3://books?endpoint=https://s3.example.com", "key", "hush", ""},
		"keys alone":              {"", "key", "hush", "STAYLEDGER_STORE_URL"},
		"no keys":                 {"s3://books?endpoint=https://s3.example.com", "", "", "both needed"},
		"a folder":                {"/srv/files", "key", "hush", "s3://bucket/prefix"},
		"no endpoint":             {"s3://books", "key", "hush", "endpoint"},
		"in the clear":            {"s3://books?endpoint=http://s3.example.com", "key", "hush", "insecure=true"},
		"keys in the wrong place": {"s3://key:hush@books?endpoint=https://s3.example.com", "key", "hush", "settings of their own"},
	} {
		config := configured(t)
		config.StoreURL, config.StoreAccessKey, config.StoreSecretKey = c.url, c.access, c.secret

		err := config.Check()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}

			continue
		}

		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The service does not start with a store that it cannot use.
func TestAStoreThatCannotBeUsedStopsTheStart(t *testing.T) {
	t.Parallel()

	for code, c := range map[string]struct {
		status int
		says   string
	}{
		"AccessDenied":                 {http.StatusForbidden, "refuses the keys"},
		"SignatureDoesNotMatch":        {http.StatusForbidden, "refuses the keys"},
		"NoSuchBucket":                 {http.StatusNotFound, "there is no bucket books"},
		"AuthorizationHeaderMalformed": {http.StatusBadRequest, "correct the region"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(c.status)
			_ = xml.NewEncoder(w).Encode(struct {
				XMLName xml.Name `xml:"Error"`
				Code    string
			}{Code: code})
		}))
		defer server.Close()

		config := configured(t)
		config.StoreURL, config.StoreAccessKey, config.StoreSecretKey = "s3://books?endpoint="+server.URL, "key", "hush"

		_, err := app.Open(t.Context(), config, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "STAYLEDGER_STORE_URL: ") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
