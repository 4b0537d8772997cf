package stayledger_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	stayledger "stayledger/clients/go"
)

const stays = 200

var rent = []stayledger.ReservationLineInput{{Type: "rent", Amount: 10_000}}

// TestIntegration drives a service with an empty team, which test/clients starts: its address and two keys of the team,
// one with all scopes and one that can only read reservations, are in the environment.
func TestIntegration(t *testing.T) {
	t.Parallel()

	base := os.Getenv("STAYLEDGER_URL")
	if base == "" {
		t.Skip("test/clients runs this test, with a service")
	}

	ctx := t.Context()
	client := &stayledger.Client{BaseURL: base, APIKey: os.Getenv("STAYLEDGER_KEY")}

	standard := stayledger.TeamInitTemplateStandard
	ready := must(client.InitializeTeam(ctx, nil, stayledger.TeamInit{Template: &standard}))
	must(client.Wait(ctx, ready.OperationId))

	owner := must(client.CreateContact(ctx, nil, stayledger.ContactCreate{Type: stayledger.ContactTypeOwner, Name: "Anna Albers"}))
	listing := must(client.CreateListing(ctx, nil, stayledger.ListingCreate{
		Name: "Beach House",
		InitialOwnership: &stayledger.ListingCreatedTerms{
			Members: []stayledger.ListingMember{{ContactId: owner.Id, Split: 100_000}},
		},
	}))

	createTwice(ctx, t, client, listing.Id)

	refs := readAll(ctx, t, client)
	if len(slices.Compact(refs)) != stays {
		t.Errorf("%d reservations, want %d", len(refs), stays)
	}

	export(ctx, t, client)

	if err := readme(ctx, listing.Id, t.TempDir()); err != nil {
		t.Error(err)
	}

	checkErrors(ctx, t, client, owner.Id, listing.Id)
}

// createTwice sends the same batch of reservations twice under one key: the second time returns the answer of the first.
func createTwice(ctx context.Context, t *testing.T, client *stayledger.Client, listing stayledger.Id) {
	t.Helper()

	batch := stayledger.ReservationBatch{}

	for i := range stays {
		in, out := fmt.Sprintf("2026-%02d-%02d", 1+i%12, 1+i/12), fmt.Sprintf("2026-%02d-%02d", 1+i%12, 2+i/12)
		ref := fmt.Sprintf("stay-%03d", i)
		batch.Data = append(batch.Data, stayledger.ReservationBatchItem{
			UniqueRef: &ref, ListingId: &listing, CheckIn: &in, CheckOut: &out, Lines: rent,
		})
	}

	key := "stays"
	params := &stayledger.BatchReservationsParams{IdempotencyKey: &key}

	first, second := must(client.BatchReservations(ctx, params, batch)), must(client.BatchReservations(ctx, params, batch))
	if len(first.Data) != stays || len(first.Issues) != 0 || first.Data[0].Id != second.Data[0].Id {
		t.Errorf("created %d with issues %v, and then %v instead of %v", len(first.Data), first.Issues, second.Data[0], first.Data[0])
	}
}

// readAll returns the references of all reservations, which fill several pages.
func readAll(ctx context.Context, t *testing.T, client *stayledger.Client) (refs []string) {
	t.Helper()

	limit, sort := int64(60), stayledger.ReservationSortCheckIn
	for r, err := range stayledger.Rows(ctx, client.ListReservations, &stayledger.ListReservationsParams{Limit: &limit, Sort: &sort}) {
		if err != nil {
			t.Fatal(err)
		}

		refs = append(refs, *r.UniqueRef)
	}

	slices.Sort(refs)

	return refs
}

// export downloads the reservations as CSV, and finds the export among the operations, which a cursor leads through.
func export(ctx context.Context, t *testing.T, client *stayledger.Client) {
	t.Helper()

	queued := must(client.QueueReservationsCSV(ctx, nil, stayledger.ExportReservationSelection{}))
	operation := must(client.Wait(ctx, queued.OperationId))

	var file bytes.Buffer
	if err := client.Download(ctx, operation.FileURL(), &file); err != nil {
		t.Fatal(err)
	}

	if rows, err := csv.NewReader(&file).ReadAll(); err != nil || len(rows) != 1+stays {
		t.Errorf("the export has %d rows, %v", len(rows), err)
	}

	var types []stayledger.OperationType

	limit := int64(1)
	for o, err := range stayledger.Rows(ctx, client.ListOperations, &stayledger.ListOperationsParams{Limit: &limit}) {
		if err != nil {
			t.Fatal(err)
		}

		types = append(types, o.Type)
	}

	if want := []stayledger.OperationType{"export", "team-initialize"}; !slices.Equal(types, want) {
		t.Errorf("operations %v, want %v", types, want)
	}
}

// checkErrors provokes refusals and compares what their errors say.
func checkErrors(ctx context.Context, t *testing.T, client *stayledger.Client, owner, listing stayledger.Id) {
	t.Helper()

	stranger := &stayledger.Client{BaseURL: client.BaseURL, APIKey: "wrong"}
	reader := &stayledger.Client{BaseURL: client.BaseURL, APIKey: os.Getenv("STAYLEDGER_READER_KEY")}
	outsider := &stayledger.Client{BaseURL: client.BaseURL, APIKey: client.APIKey, Team: owner}

	reserve := func(c *stayledger.Client, key, ref, in, out string) error {
		_, err := c.CreateReservation(ctx, &stayledger.CreateReservationParams{IdempotencyKey: &key},
			stayledger.ReservationCreate{ListingId: listing, UniqueRef: &ref, CheckIn: in, CheckOut: out, Lines: rent})

		return err
	}
	get := func(c *stayledger.Client, id string) error {
		_, err := c.GetReservation(ctx, id)
		return err
	}

	closed := "2026-01-01"
	must(client.CloseBooks(ctx, nil, stayledger.TeamCloseBooks{BooksClosedAt: &closed, Reason: "audited"}))

	_, tooMuch := client.ExportStatementsPDFBatch(ctx, nil)

	for name, test := range map[string]struct {
		err    error
		status int
		want   string // code and reason, issues by code and path, the context that the client goes on with
	}{
		"unknown reservation": {get(client, owner), 404, "NOT_FOUND"},
		"malformed id":        {get(client, "mine"), 400, "BAD_REQUEST uuid [id]"},
		"no such key":         {get(stranger, owner), 401, "UNAUTHORIZED"},
		"missing scope":       {reserve(reader, "1", "new", "2026-03-01", "2026-03-02"), 403, "FORBIDDEN"},
		"foreign team":        {get(outsider, owner), 403, "FORBIDDEN"},
		"unknown parameter":   {client.Download(ctx, "/reservations?color=red", io.Discard), 400, "BAD_REQUEST unknownParameter [color]"},
		"stay without nights": {reserve(client, "2", "new", "2026-03-02", "2026-03-02"), 400, "BAD_REQUEST dateOrder [checkOut]"},
		"used key":            {reserve(client, "stays", "new", "2026-03-01", "2026-03-02"), 409, "CONFLICT idempotencyKeyReused [Idempotency-Key]"},
		"used reference":      {reserve(client, "3", "stay-000", "2026-03-01", "2026-03-02"), 409, "CONFLICT duplicateUniqueRef"},
		"owner in use":        {client.DeleteContact(ctx, owner, nil), 400, "BAD_REQUEST inUse archive"},
		"closed books":        {reserve(client, "4", "new", "2025-03-01", "2025-03-02"), 403, "FORBIDDEN booksClosed 2026-01-01"},
		"export that is big":  {tooMuch, 422, "EXPORT_REQUIRES_POST POST"},
	} {
		failure, ok := errors.AsType[*stayledger.Error](test.err)
		if !ok {
			t.Errorf("%s: no Error but %v", name, test.err)
			continue
		}

		got := []any{failure.Code}
		if failure.Reason != "" {
			got = append(got, failure.Reason)
		}

		for _, issue := range failure.Issues {
			got = append(got, *issue.Code, issue.Path)
		}

		if c := failure.Context; c != nil {
			for _, value := range []*string{c.SuggestedOnLocked, c.BooksClosedAt, c.RecommendedMethod} {
				if value != nil {
					got = append(got, *value)
				}
			}
		}

		if failure.Status != test.status || fmt.Sprintln(got...) != test.want+"\n" || failure.Message == "" || failure.RequestID == "" {
			t.Errorf("%s: %d %s, %v; want %d %s", name, failure.Status, got, failure, test.status, test.want)
		}
	}
}

// must returns the result of a call that cannot fail.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}

	return result
}
