package mapping_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const mappings = "/reservations/line-mappings"

type object = map[string]any

// books is a team with the standard chart and its mappings.
type books struct {
	*apitest.Team
	t testing.TB
}

func newBooks(t testing.TB) *books {
	t.Helper()
	b := &books{t: t, Team: apitest.New(t, apitest.Config{Endpoints: mapping.Part().Endpoints})}
	b.Tx(account.InstallStandard)
	b.Tx(mapping.InstallStandard)

	return b
}

func (b *books) account(code string) (account id.ID) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		account, err = db.Get[id.ID](ctx, tx, `select id from account where team_id = @team and code = @code`, db.Args{"team": tx.Team, "code": code})
		return err
	})

	return account
}

func TestLineMappingRefusalsAndList(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	rent := b.account("4000")
	b.Post(mappings, object{"lineType": "rent", "accountId": rent}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	b.Post(mappings, object{"lineType": "rent", "channel": "Vrbo", "accountId": rent, "party": "owners"}).Want(201)
	b.Post(mappings, object{"lineType": "rent", "channel": "VRBO", "accountId": rent}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	b.Post(mappings, object{"lineType": "rent", "appId": "pms", "accountId": rent}).Want(201)
	b.Post(mappings, object{"lineType": "sauna"}).Want(201)
	mapped := b.Post(mappings, object{"lineType": "sauna", "accountId": b.account("4020")}).Want(201)

	unknown := id.New(b.DB.Now()).String()
	for issue, body := range map[[2]string]object{
		{"required", "accountId"}:      {"lineType": "x", "status": "mapped"},
		{"notFound", "accountId"}:      {"lineType": "x", "accountId": unknown},
		{"contradiction", "accountId"}: {"lineType": "x", "status": "excluded", "accountId": rent},
		{"length", "lineType"}:         {"lineType": ""},
	} {
		b.Post(mappings, body).WantError(apierr.CodeBadRequest, "").WantIssue(issue[0], issue[1])
	}

	b.Get(mappings+"/"+unknown).WantError(apierr.CodeNotFound, "")
	b.Put(mappings+"/"+unknown, object{}).WantError(apierr.CodeNotFound, "")
	b.Delete(mappings+"/"+unknown).WantError(apierr.CodeNotFound, "")

	foreign := newBooks(t)
	foreign.Get(mappings+"/"+mapped.String("id")).WantError(apierr.CodeNotFound, "")

	for query, want := range map[string]string{
		"lineType=rent":                                "3",
		"lineType=rent&channel=vrbo":                   "1",
		"lineType=rent&channel=null":                   "2",
		"lineType=rent&appId=pms,null&sort=-createdAt": "3",
		"appId=pms":                                    "1",
		"status=mapped&lineType=sauna":                 "1",
		"accountIds=" + rent.String():                  "4",
		"search=SAUN":                                  "1",
		"search=vrb":                                   "1",
	} {
		if got := b.Get(mappings + "?" + query).Want(200); strconv.Itoa(got.Len("data")) != want {
			t.Errorf("%s: %s", query, got.Body)
		}
	}

	if got := b.Put(mappings+"/"+mapped.String("id"), object{"accountId": nil}).Want(200); got.String("status") != "unmapped" {
		t.Errorf("%s", got.Body)
	}
}
