package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// directed is the context of an answer that another deployment can serve.
type directed struct {
	Context struct {
		APIBaseURL string `json:"apiBaseUrl"`
		DataRegion string `json:"dataRegion"`
		TeamID     string `json:"teamId"`
	}
}

// elsewhere returns where an answer sends the caller.
func (a *answer) elsewhere() (d directed) {
	a.t.Helper()

	if err := json.Unmarshal(a.want(421).body, &d); err != nil || a.text("code") != "MISDIRECTED_REQUEST" {
		a.t.Fatalf("%s: %v", a.body, err)
	}

	return d
}

// names are the names of the teams of a list.
func (a *answer) names() (out []string) {
	a.t.Helper()

	var list struct{ Data []struct{ Name string } }
	if err := json.Unmarshal(a.want(200).body, &list); err != nil {
		a.t.Fatal(err)
	}

	for _, row := range list.Data {
		out = append(out, row.Name)
	}

	slices.Sort(out)

	return out
}

// Two deployments serve a region each, with a database each. What belongs to the other one is answered with its address, and
// the same request is served there. A partner of one region has customers in both.
//
// Proves: ERR-43, ERR-89, ERR-90, ERR-91, AUTH-11.
func TestTwoRegionsServeAPartner(t *testing.T) {
	t.Parallel()
	first, second := emptyDatabase(t), emptyDatabase(t)
	overseas, home := freeAddress(t), freeAddress(t)

	start(t, first, t.TempDir(), "serve", "--workers", "1", "--regions", "us", "--elsewhere", "eu=http://"+overseas, "--listen", home)
	start(t, second, t.TempDir(), "serve", "--workers", "1", "--regions", "eu", "--elsewhere", "us=http://"+home, "--listen", overseas)

	// The partner is made in its own region, and known in the other one.
	partner := command(t, first, "team", "create", "Partners", "--partner")
	key := command(t, first, "key", "issue", "--team", partner, "--partner")
	introduce(t, first, second, partner, "eu")

	us := &client{t: t, base: "http://" + home, key: key}
	follow := func(d directed) *client {
		if d.Context.APIBaseURL != "http://"+overseas || d.Context.DataRegion != "eu" {
			t.Fatalf("sent to %+v", d)
		}

		return &client{t: t, base: d.Context.APIBaseURL, key: key}
	}

	us.post("/teams", map[string]any{"name": "Beach Homes"}).want(201)

	// A customer of the other region is made there.
	alps := map[string]any{"name": "Alp Homes", "dataRegion": "eu", "init": map[string]any{}}
	made := follow(us.post("/teams", alps).elsewhere()).post("/teams", alps).want(201)
	team := made.text("id")

	if made.text("dataRegion") != "eu" || made.text("partner.name") != "Partners" {
		t.Errorf("made %s", made.body)
	}

	// Until it hears of it, the first deployment knows the team no more than anybody's. Then it says where the team lives.
	us.team = team
	us.get("/team").want(403)
	introduce(t, second, first, partner, "us")
	// Credentials are remembered for moments.
	eventually(t, "the news of the team", func() bool { return us.get("/team").status == 421 })

	d := us.get("/accounts").elsewhere()
	if d.Context.TeamID != team {
		t.Errorf("sent to %+v for team %s", d, team)
	}

	eu := follow(d)
	eu.team = team

	if got := eu.get("/accounts").want(200); got.text("data.0.id") == "" {
		t.Errorf("no chart: %s", got.body)
	}

	// A key that only the other deployment knows is sent there too.
	own := command(t, second, "key", "issue", "--team", team)
	stranger := &client{t: t, base: us.base, key: own}

	if d := stranger.get("/team").elsewhere(); d.Context.APIBaseURL != "http://"+overseas {
		t.Errorf("sent to %+v", d)
	}

	(&client{t: t, base: eu.base, key: own}).get("/team").want(200)

	// Reads of the partner have the slice of a region, or all that is known.
	us.team, eu.team = "", ""
	if got := us.get("/teams").names(); !slices.Equal(got, []string{"Alp Homes", "Beach Homes"}) {
		t.Errorf("all teams: %v", got)
	}

	for _, path := range []string{"/teams", "/partner/overview"} {
		if got := us.sliced("us").get(path).names(); !slices.Equal(got, []string{"Beach Homes"}) {
			t.Errorf("%s in us: %v", path, got)
		}

		follow(us.sliced("eu").get(path).elsewhere())

		if got := eu.sliced("eu").get(path).names(); !slices.Equal(got, []string{"Alp Homes"}) {
			t.Errorf("%s in eu: %v", path, got)
		}
	}

	// A key that is revoked at home ends elsewhere with the next directory.
	var id string

	for line := range strings.Lines(command(t, first, "key", "list", partner)) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == "partner" {
			id = words[0]
		}
	}

	command(t, first, "key", "revoke", id)
	introduce(t, first, second, partner, "eu")
	eventually(t, "the end of the key", func() bool { return eu.get("/teams").status == 401 })
}

// sliced returns the client with a data region.
func (c *client) sliced(region string) *client {
	out := *c
	out.region = region

	return &out
}

// introduce takes what one deployment knows of a partner into the database of another, which serves a region.
func introduce(t *testing.T, from, to, partner, region string) {
	t.Helper()

	path := filepath.Join(t.TempDir(), "directory.json")
	if err := os.WriteFile(path, []byte(command(t, from, "directory", "export", partner)), 0o600); err != nil {
		t.Fatal(err)
	}

	command(t, to, "directory", "import", path, "--regions", region)
}
