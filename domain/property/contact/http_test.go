package contact_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Proves: DRY-34.
func TestContactLife(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	bank := account(x, "bank")

	r := x.Post("/contacts", object{
		"type": "owner", "name": "Lovelace", "firstName": "Ada", "email": "ada@example.com", "phone": "+1 555 0100", "uniqueRef": "pms-1",
		"companyType": "partnership", "taxIdentifier": "123-45-6789", "payoutAccountId": bank,
		"address": object{"line1": "1 Main St", "city": "Aspen", "countryCode": "US"},
	}).Want(201)
	if r.String("taxIdentifier") != "***6789" || r.Len("activeOwnerships") != 0 || len(r.String("shortRef")) != 8 || r.String("source") != "null" {
		t.Errorf("created %s", r.Body)
	}

	if x.Post("/contacts?dryRun=true", object{"type": "vendor", "name": "Dry"}).Want(201); x.Get("/contacts").Int("pagination.total") != 1 {
		t.Error("the dry run stored a contact")
	}

	path := "/contacts/" + r.String("id")

	changed := x.Put(path, object{"email": nil, "name": "King", "status": "inactive"}).Want(200)
	for field, want := range map[string]string{
		"email": "null", "name": "King", "firstName": "Ada", "status": "inactive", "taxIdentifier": "***6789", "address.city": "Aspen",
		"payoutAccountId": bank.String(), "companyType": "partnership",
	} {
		if got := changed.String(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}

	if r := x.Put(path, object{"taxIdentifier": nil, "address": nil, "payoutAccountId": nil, "companyType": nil}).Want(200); r.String("taxIdentifier") != "null" ||
		r.String("address") != "null" || r.String("payoutAccountId") != "null" || r.String("companyType") != "null" {
		t.Errorf("not cleared: %s", r.Body)
	}

	x.Delete(path).Want(204)
	x.Get(path).WantError(apierr.CodeNotFound, "")
}

func TestContactRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, test := range []struct {
		body       object
		code, path string
	}{
		{object{"name": "No type"}, "required", "type"},
		{object{"type": "vendor"}, "required", "name"},
		{object{"type": "vendor", "name": ""}, "length", "name"},
		{object{"type": "guest", "name": "G"}, "enum", "type"},
		{object{"type": "vendor", "name": "V", "email": "nonsense"}, "email", "email"},
		{object{"type": "vendor", "name": "V", "companyType": "club"}, "enum", "companyType"},
		{object{"type": "vendor", "name": "V", "dryRun": true}, "unknownField", "dryRun"},
		{object{"type": "vendor", "name": "V", "payoutAccountId": id.New(x.DB.Now())}, "notFound", "payoutAccountId"},
	} {
		x.Post("/contacts", test.body).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.path)
	}

	x.Post("/contacts", object{"type": "vendor", "name": "V", "payoutAccountId": account(x, "ledger")}).
		WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "payoutAccountId")
}

// Proves: RSN-20.
func TestDuplicateReference(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Post("/contacts", object{"type": "vendor", "name": "A", "uniqueRef": "a"}).Want(201)
	b := x.Post("/contacts", object{"type": "vendor", "name": "B", "uniqueRef": "b"}).Want(201).String("id")
	x.Post("/contacts", object{"type": "vendor", "name": "C", "uniqueRef": "a"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	x.Put("/contacts/"+b, object{"uniqueRef": "a"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
}

func TestActiveOwnerships(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	owner := x.Post("/contacts", object{"type": "owner", "name": "Owner"}).Want(201).ID("id")
	own(x, owner, "2000-01-01", "2001-01-01")
	today := own(x, owner, "2001-01-01", "")
	own(x, owner, "9000-01-01", "")

	r := x.Get("/contacts/" + owner.String()).Want(200)
	if r.Len("activeOwnerships") != 1 || r.ID("activeOwnerships.0.listingId") != today || r.Int("activeOwnerships.0.split") != 100000 ||
		r.String("activeOwnerships.0.startAt") != "2001-01-01" || r.String("activeOwnerships.0.endAt") != "null" {
		t.Errorf("got %s", r.Body)
	}
}

// Proves: ERR-72, ERR-73, ERR-74, RSN-24.
func TestContactInUse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	owner := x.Post("/contacts", object{"type": "owner", "name": "Owner"}).Want(201).ID("id")
	own(x, owner, "2000-01-01", "2001-01-01")
	path := "/contacts/" + owner.String()

	r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.Len("context.lockReasons") != 1 || r.String("context.lockReasons.0") != "ownershipPeriods" || r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("got %s", r.Body)
	}

	x.Put(path, object{"type": "vendor"}).WantError(apierr.CodeBadRequest, "").WantIssue("contactTypeLocked", "type")
	x.Delete(path + "?onLocked=archive").Want(204)

	if got := x.Get(path).Want(200).String("status"); got != "inactive" {
		t.Errorf("the status is %s", got)
	}

	x.Delete(path+"?onLocked=delete").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "onLocked")
}

func TestOwnerWithoutListingsBecomesVendor(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	one := x.Post("/contacts", object{"type": "owner", "name": "Owner"}).Want(201).String("id")
	x.Put("/contacts/"+one, object{"type": "vendor"}).Want(200)
}

// Proves: AUTH-50, AUTH-51, AUTH-52, AUTH-53, AUTH-56.
func TestVendorOnlyAccess(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	owner := x.Post("/contacts", object{"type": "owner", "name": "Owner", "uniqueRef": "owner"}).Want(201).String("id")
	v := x.As([]string{"contacts:read", "contacts:vendors:write"}, nil)

	vendor := v.Post("/contacts", object{"type": "vendor", "name": "Plumber"}).Want(201).String("id")
	if got := v.Put("/contacts/"+vendor, object{"name": "Roofer"}).Want(200).String("name"); got != "Roofer" {
		t.Errorf("the name is %s", got)
	}

	if r := v.Post("/contacts/batch", object{"data": []object{{"id": vendor, "name": "Painter"}, {"type": "vendor", "name": "Florist"}}}).
		Want(200); r.Len("data") != 2 || r.Len("issues") != 0 {
		t.Errorf("batch: %s", r.Body)
	}

	refused := v.Post("/contacts", object{"type": "owner", "name": "New owner"}).WantError(apierr.CodeForbidden, "")
	if refused.String("context.requiredScopes.0") != "contacts:write" {
		t.Errorf("refused with %s", refused.Body)
	}

	v.Put("/contacts/"+owner, object{"name": "Changed"}).WantError(apierr.CodeForbidden, "")
	v.Put("/contacts/"+owner, object{"type": "vendor"}).WantError(apierr.CodeForbidden, "")
	v.Put("/contacts/"+vendor, object{"type": "owner"}).WantError(apierr.CodeForbidden, "")

	r := v.Post("/contacts/batch", object{"data": []object{
		{"type": "owner", "name": "New owner"}, {"id": owner, "name": "Changed"}, {"uniqueRef": "owner", "type": "vendor"}, {"id": vendor, "type": "owner"},
	}}).Want(200)
	if r.Len("data") != 0 || r.Len("issues") != 4 || strings.Count(string(r.Body), `"FORBIDDEN"`) != 4 {
		t.Errorf("batch of owners: %s", r.Body)
	}

	v.Delete("/contacts/"+vendor).WantError(apierr.CodeForbidden, "")
	x.Get("/contacts/" + vendor).Want(200)

	if got := x.Get("/contacts?type=owner"); got.Int("pagination.total") != 1 || got.String("data.0.name") != "Owner" {
		t.Errorf("owners changed: %s", got.Body)
	}

	reader := x.As([]string{"contacts:read"}, nil)
	reader.Post("/contacts", object{"type": "vendor", "name": "V"}).WantError(apierr.CodeForbidden, "")
}

func TestContactUsedByTransactionsStays(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	vendor := x.Post("/contacts", object{"type": "vendor", "name": "Plumber"}).Want(201).ID("id")
	x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, contact_id, total, created_at, updated_at)
		values (@team, @id, 'ref', 'expense', '2026-01-01', 'usd', @account, @contact, 100, now(), now())`,
		db.Args{"id": id.New(x.DB.Now()), "account": account(x, "bank"), "contact": vendor})

	r := x.Delete("/contacts/"+vendor.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.Len("context.lockReasons") != 1 || r.String("context.lockReasons.0") != "transactions" {
		t.Errorf("got %s", r.Body)
	}
}

// A line of a journal keeps its contact before entries are derived from it.
//
// Proves: ERR-72, RSN-24.
func TestContactUsedByAJournalLineStays(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	owner := x.Post("/contacts", object{"type": "owner", "name": "Owner"}).Want(201).ID("id")
	journal := id.New(x.DB.Now())
	x.Exec(`insert into journal (team_id, id, short_ref, date, currency, ledger, total, created_at, updated_at)
		values (@team, @id, 'J', '2026-03-01', 'usd', 'trust', 1, now(), now())`, db.Args{"id": journal})
	x.Exec(`insert into journal_line (team_id, journal_id, position, account_id, contact_id, cent_total) values (@team, @journal, 1, @account, @owner, 1)`,
		db.Args{"journal": journal, "account": account(x, "ledger"), "owner": owner})

	r := x.Delete("/contacts/"+owner.String()).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if got := r.String("context.lockReasons"); got != `["journalEntries"]` {
		t.Errorf("reasons %s", got)
	}
}
