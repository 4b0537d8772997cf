// Package clients_test holds the clients of the API against the service: they are of its description, and they work.
package clients_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"stayledger/app"
)

// The generated files of the clients are of the description whose hashes are kept next to them.
func TestClientsAreOfTheDescription(t *testing.T) {
	t.Parallel()

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	kept, err := os.ReadFile("../../clients/description.sha256")
	if err != nil {
		t.Fatal(err)
	}

	if now := fmt.Sprintf("%x  3.0.json\n%x  3.1.yaml\n", sha256.Sum256(d.JSON30), sha256.Sum256(d.YAML)); now != string(kept) {
		t.Errorf("the description has changed: run make clients\nclients/description.sha256 has\n%s\nand the code has\n%s", kept, now)
	}
}
