package pms_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every request of the guide works as it is written there, in this order.
func TestTheGuideOfACutover(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../docs/guides/cutover.md")
	if err != nil {
		t.Fatal(err)
	}

	m := newMoving(t, nil)
	m.before("old", "2026-06-10", "2026-06-12", 100)
	m.both("stay", "2026-07-10", "2026-07-12", 200)
	m.connect()
	m.Put(m.path("/listing-mappings"), object{"data": array{}}).Want(200)
	m.sync("full")

	names := []string{"$SOURCE", m.connection.String(), "$URL", m.at, "$TOKEN", token}
	tried := 0

	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 {
			continue
		}

		head, rest, _ := strings.Cut(strings.TrimSpace(strings.NewReplacer(names...).Replace(block)), "\n")
		method, path, _ := strings.Cut(head, " ")

		var body any
		if rest != "" {
			if err := json.Unmarshal([]byte(rest), &body); err != nil {
				t.Fatalf("%s: %v", head, err)
			}
		}

		got := m.Call(method, path, body)
		if got.Status >= 300 {
			t.Fatalf("%s is answered with %d %s", head, got.Status, got.Body)
		}

		m.Outlast(nil)

		if path == "/connections" {
			m.target = got.ID("resource.id")
			names = append(names, "$TARGET", m.target.String())
		}

		tried++
	}

	if tried != 9 {
		t.Errorf("%d requests were tried", tried)
	}

	// The source is archived, and the books stay.
	m.want("stay", [2]int64{0, 20_000}, "inactive", "2026-07-10", "2026-07-12")

	if got := m.revenue(m.connection, "old"); got != 10_000 {
		t.Errorf("the stay of before the day has %d", got)
	}
}
