package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"stayledger/platform/api"
	"stayledger/platform/db"
)

// An endpoint is a value in a list: its input says what it takes, its function what it does. A request that does not
// fit never reaches it.
func Example() {
	type input struct {
		Name string `path:"name"`
		Loud bool   `query:"loud"`
	}

	type greeting struct {
		Text string `json:"text"`
	}

	greet := api.External(api.Endpoint{Method: http.MethodGet, Path: "/greetings/{name}", ID: "greet", Tag: "greetings", Public: true},
		func(_ context.Context, _ *db.DB, _ db.Scope, in *input) (*greeting, error) {
			text := "hello " + in.Name
			if in.Loud {
				text = strings.ToUpper(text)
			}

			return &greeting{Text: text}, nil
		})
	server := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), PublicURL: "https://books.example.com"}, []api.Endpoint{greet})

	for _, path := range []string{"/greetings/ann?loud=true", "/greetings/ann?loud=1"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Request-Id", "r1")
		server.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 {"text":"HELLO ANN"}
	// 400 {"code":"BAD_REQUEST","message":"Request validation failed","issues":[{"message":"Value is not true or false","path":["loud"],"code":"boolean","schema":"query"}],"requestId":"r1","docs":"https://books.example.com/docs/chapters/errors#BAD_REQUEST"}
}
