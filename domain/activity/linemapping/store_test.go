package linemapping_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/domain/activity/linemapping"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// The mapping of the app counts before that for every app, case aside; an unmapped row decides nothing.
func TestTheMostSpecificMappingDecides(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.noteUnmapped("airbnb", "Bond")
	b.noteUnmapped("", "gift")
	b.Post(mappings, object{"lineType": "resolution", "accountId": b.accounts["4000"]}).Want(201)
	b.Post(mappings, object{"lineType": "Resolution", "appId": "airbnb", "status": "excluded"}).Want(201)
	b.Post(mappings, object{"lineType": "bond", "assignment": "deposit_reserve"}).Want(201)
	b.Post(mappings, object{"lineType": "coHost", "appId": "airbnb", "accountId": b.accounts["4020"]}).Want(201)

	for _, test := range []struct{ app, lineType, want string }{
		{"airbnb", "resolution", "excluded"},
		{"airbnb", "RESOLUTION", "excluded"},
		{"vrbo", "Resolution", "mapped Rent"},
		{"", "resolution", "mapped Rent"},
		{"airbnb", "bond", "mapped deposit_reserve"},
		{"airbnb", "coHost", "mapped Guest fees"},
		{"vrbo", "coHost", "waits"},
		{"", "coHost", "waits"},
		{"", "gift", "waits"},
		{"airbnb", "never seen", "waits"},
	} {
		if got := b.find(test.app, test.lineType); got != test.want {
			t.Errorf("a line %q of %q: %s, want %s", test.lineType, test.app, got, test.want)
		}
	}
}

// Only types that no mapping of the app or for every app knows are noted, each once.
func TestUnknownTypesAreNotedOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post(mappings, object{"lineType": "resolution", "accountId": b.accounts["4000"]}).Want(201)
	b.Post(mappings, object{"lineType": "tax", "appId": "airbnb", "status": "excluded"}).Want(201)

	for range 2 {
		b.noteUnmapped("airbnb", "Resolution", "TAX", "coHost", "cohost")
		b.noteUnmapped("vrbo", "tax")
		b.noteUnmapped("", "COHOST")
		b.noteUnmapped("")
	}

	// A type for every app is known to each of them.
	b.noteUnmapped("vrbo", "cohost")
	b.wantRows("?status=unmapped", "airbnb:coHost unmapped", ":COHOST unmapped", "vrbo:tax unmapped")

	if got := b.events(); got != 5 {
		t.Errorf("%d events, want one for each row", got)
	}

	// What waits is shown to the team until it is mapped, for the app or for every app.
	b.wantWaits("airbnb:coHost", "null:COHOST", "vrbo:tax")
	b.Post(mappings, object{"lineType": "cohost", "assignment": "deposit_coHostPayout"}).Want(201)
	b.wantWaits("vrbo:tax")
	b.wantRows("?lineType=cohost", "airbnb:coHost unmapped", ":cohost mapped")
	b.Post(mappings, object{"lineType": "Tax", "appId": "vrbo", "status": "excluded"}).Want(201)
	b.wantWaits()
	b.wantRows("?lineType=tax", "airbnb:tax excluded", "vrbo:Tax excluded")
}

// Eight imports that bring the same types at once, each in another order, note each of them once, and none fails.
func TestImportsAtOnceNoteEachTypeOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	var types []string
	for i := range 40 {
		types = append(types, fmt.Sprintf("Type %02d", i))
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	var writers sync.WaitGroup

	for n := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(n)))

		mine := append([]string{}, types...)
		for i := range mine {
			if random.IntN(2) == 0 {
				mine[i] = strings.ToUpper(mine[i])
			}
		}

		random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		writers.Go(func() {
			err := b.DB.Write(context.Background(), b.Scope(), func(ctx context.Context, tx *db.Tx) error {
				return linemapping.NoteUnmapped(ctx, tx, optional("airbnb"), mine)
			})
			if err != nil {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}

	writers.Wait()

	if got := b.Get(mappings + "?status=unmapped").Want(200).Int("pagination.total"); got != 40 {
		t.Errorf("%d rows, want 40", got)
	}

	if got := b.events(); got != 40 {
		t.Errorf("%d events, want 40", got)
	}
}

// A mapping that is made while an import runs waits for its end, takes the place of the row that it noted, and then asks
// for what it left waiting.
func TestAMappingWaitsForTheImportThatRuns(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	noted, answered := make(chan struct{}), make(chan string, 1)

	go func() {
		<-noted

		answered <- string(b.Post(mappings, object{"lineType": "Bond", "appId": "airbnb", "accountId": b.accounts["4000"]}).Body)
	}()

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := linemapping.NoteUnmapped(ctx, tx, optional("airbnb"), []string{"bond"}); err != nil {
			return err
		}

		close(noted)

		return apitest.UntilWaiting(ctx, tx, 1)
	})

	body := apitest.Receive(t, answered)
	if !strings.Contains(body, `"status":"mapped"`) {
		t.Errorf("the answer is %s", body)
	}

	b.wantRows("", "airbnb:Bond mapped")
	b.wantPosted("airbnb:Bond")
}

// A team that is copied brings its mappings, without the types that wait there, and a job for each.
func TestMappingsAreCopied(t *testing.T) {
	t.Parallel()
	from, to := newBooks(t), newBooks(t)
	from.Post(mappings, object{"lineType": "resolution", "accountId": from.accounts["4000"], "party": "owners", "description": "Damage"}).Want(201)
	from.Post(mappings, object{"lineType": "coHost", "appId": "airbnb", "assignment": "deposit_coHostPayout"}).Want(201)
	from.Post(mappings, object{"lineType": "tax", "status": "excluded"}).Want(201)
	from.noteUnmapped("airbnb", "bond")
	to.Post(mappings, object{"lineType": "TAX", "accountId": to.accounts["4020"]}).Want(201)
	to.noteUnmapped("vrbo", "resolution")
	to.wantPosted(":TAX")
	to.Reach(from.ID)

	path := "/teams/" + to.ID.String() + "/init"
	to.Patch(path, object{"copyFromTeamId": from.ID, "include": []string{"accounts"}}).Want(200)
	to.wantRows("?status=mapped", ":TAX mapped")

	for range 2 {
		to.Patch(path, object{"copyFromTeamId": from.ID, "include": []string{"lineMappings"}}).Want(200)
	}

	to.wantRows("", "airbnb:coHost mapped", "vrbo:resolution unmapped", ":resolution mapped", ":TAX mapped")
	to.Get(mappings+"?lineType=resolution&appId=null").Want(200).WantFields("data.0", object{
		"accountId": to.accounts["4000"].String(), "party": "owners", "description": "Damage", "assignment": nil,
	})
	to.Get(mappings+"?lineType=cohost").Want(200).WantFields("data.0", object{"assignment": "deposit_coHostPayout", "appId": "airbnb"})
	to.wantWaits()
	to.wantPosted(":resolution", "airbnb:coHost")
}
