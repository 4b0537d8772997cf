package api_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
)

// Proves: PAG-06, PAG-07.
func TestCursorsLeadThroughAList(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for _, query := range []string{"", "kind=owner&", "limit=3&"} {
		var seen []string

		path := "/rooms/a?" + strings.TrimSuffix(query, "&")
		for turns := 0; ; turns++ {
			r := x.Get(path).Want(200)
			for i := range r.Len("items") {
				seen = append(seen, r.Value("items").([]any)[i].(string))
			}

			if r.Value("nextCursor") == nil {
				break
			}

			if turns > 7 {
				t.Fatal("the list does not end")
			}

			path = "/rooms/a?" + query + "cursor=" + r.String("nextCursor")
		}

		if got := strings.Join(seen, ""); got != "0123456" {
			t.Errorf("%s: saw %s", query, got)
		}
	}
}

// Proves: PAG-32, OPEN-72.
func TestACursorBelongsToOneListOfOneTeam(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	plain := x.Get("/rooms/a").Want(200).String("nextCursor")
	filtered := x.Get("/rooms/a?kind=owner").Want(200).String("nextCursor")

	another := "A" // letter than the first
	if plain[0] == 'A' {
		another = "B"
	}

	x.Get("/rooms/a?limit=5&cursor=" + plain).Want(200) // another page size is no other list

	for _, path := range []string{
		"/rooms/a?kind=owner&cursor=" + plain, "/rooms/a?cursor=" + filtered, "/rooms/a?kind=vendor&cursor=" + filtered, "/rooms/b?cursor=" + plain, "/halls/a?cursor=" + plain,
		"/rooms/a?cursor=" + plain + "x", "/rooms/a?cursor=" + plain[:len(plain)-1], "/rooms/a?cursor=" + another + plain[1:], "/rooms/a?cursor=x", "/rooms/a?cursor=%20" + plain, "/rooms/a?cursor=eHh4", "/rooms/a?cursor=" + plain + "=",
	} {
		x.Get(path).WantError(apierr.CodeBadRequest, "").WantIssue("cursorMismatch", "cursor")
	}

	other.Get("/rooms/a?cursor="+plain).WantError(apierr.CodeBadRequest, "").WantIssue("cursorMismatch", "cursor")

	for i := range len(plain) {
		changed := []byte(plain)
		if changed[i]++; changed[i] == plain[i] {
			continue
		}

		x.Get("/rooms/a?cursor=" + strings.NewReplacer("[", "a", "{", "b", ":", "c", "`", "d").Replace(string(changed))).Want(400)
	}
}
