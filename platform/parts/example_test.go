package parts_test

import (
	"fmt"

	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Example joins two nouns to a service.
func Example() {
	listings := parts.Part{Endpoints: []api.Endpoint{{Method: "GET", Path: "/listings", ID: "listListings"}}}

	contacts := parts.Part{Endpoints: []api.Endpoint{{Method: "GET", Path: "/contacts", ID: "listContacts"}}}
	for _, e := range parts.Join(listings, contacts).Endpoints {
		fmt.Println(e.Method, e.Path)
	}
	// Output:
	// GET /listings
	// GET /contacts
}
