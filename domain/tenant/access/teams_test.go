package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// names are those of GET /teams, in order.
func (a *answer) names() string {
	a.t.Helper()

	rows, ok := a.want(200).tree()["data"].([]any)
	if !ok {
		a.t.Fatalf("%s: %s", a.call, a.body)
	}

	out := []string{}

	for _, r := range rows {
		row, _ := r.(map[string]any)
		out = append(out, fmt.Sprint(row["name"]))
	}

	return strings.Join(out, " ")
}

func TestTeamsAreSortedFilteredAndPaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	partner := w.partner("us")
	byName := map[string]id.ID{}

	for i, name := range []string{"delta", "Alpha", "charlie", "Bravo_1"} {
		v := w.team("us", partner)
		byName[name] = v
		w.exec(`update team set name = @name, created_at = created_at + @seconds::int * interval '1 second' where id = @team`,
			db.Args{"team": v, "name": name, "seconds": i})
	}

	w.exec(`update team set status = 'onboarding' where id = @team`, db.Args{"team": byName["charlie"]})
	foreign := w.team("us", id.Zero)

	key := w.partnerKey(partner)
	for query, want := range map[string]string{
		"": "Alpha Bravo_1 charlie delta", "?sort=-name": "delta charlie Bravo_1 Alpha", "?sort=createdAt": "delta Alpha charlie Bravo_1",
		"?sort=-createdAt": "Bravo_1 charlie Alpha delta", "?status=onboarding": "charlie", "?status=deleted": "", "?type=partner": "",
		"?type=propertyManager&search=A": "Alpha Bravo_1 charlie delta", "?search=_": "Bravo_1", "?search=%25": "", "?limit=1&page=3": "charlie",
		"?limit=2&offset=3": "delta", "?ids=" + byName["delta"].String() + "," + foreign.String() + "," + byName["Alpha"].String(): "Alpha delta",
		"?ids=" + foreign.String(): "", "?ids=" + partner.String(): "",
	} {
		if got := w.get("/teams"+query, key).names(); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}

	rows, _ := w.get("/teams?limit=1", key).want(200).tree()["data"].([]any)

	first, _ := rows[0].(map[string]any)
	if fmt.Sprint(first["partner"]) != fmt.Sprint(map[string]any{"id": partner.String(), "name": "Partner in us"}) {
		t.Errorf("partner: %v", first["partner"])
	}

	if !slices.Contains(w.get("/teams", w.key(foreign)).listed(), foreign.String()) {
		t.Error("a team's key does not list its team")
	}

	for _, query := range []string{"?sort=region", "?sort=name,createdAt", "?ids=1", "?status=lost", "?limit=0", "?region=us"} {
		w.get("/teams"+query, key).refused(apierr.CodeBadRequest, "")
	}
}
