package contact_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"stayledger/domain/property/contact"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// whole reads tax identifiers as the information returns do.
func whole(t *testing.T, x *apitest.Team, box *seal.Box, contacts ...id.ID) (map[id.ID]string, error) {
	t.Helper()

	var (
		out    map[id.ID]string
		failed error
	)

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		out, failed = contact.TaxIdentifiers(ctx, tx, box, contacts)
		return nil
	})

	return out, failed
}

func TestTaxIdentifiersAreSealedAndMasked(t *testing.T) {
	t.Parallel()
	x, box := newTeam(t), newBox(t)
	add := func(b object) id.ID {
		b["type"], b["name"] = "vendor", "Plumber"

		r := x.Post("/contacts", b).Want(201)
		if got := r.String("taxIdentifier"); got != "***6789" || bytes.Contains(r.Body, []byte("345678")) {
			t.Errorf("shown as %s", r.Body)
		}

		return r.ID("id")
	}
	ein, ssn := add(object{"taxIdentifier": "12-3456789"}), add(object{"taxIdentifier": "123-45-6789"})
	person, company := add(object{"taxIdentifier": "123456789"}), add(object{"taxIdentifier": "123456789", "companyType": "partnership"})

	x.Post("/contacts/batch", object{"data": []object{{"type": "vendor", "name": "Batch", "uniqueRef": "b", "taxIdentifier": "12-3456789"}}}).Want(200)

	batch, none := x.Get("/contacts?uniqueRefs=b").ID("data.0.id"), x.Post("/contacts", object{"type": "vendor", "name": "None"}).Want(201).ID("id")
	for _, path := range []string{"/contacts", "/contacts/" + ein.String()} {
		if r := x.Get(path).Want(200); bytes.Contains(r.Body, []byte("345678")) || bytes.Contains(r.Body, []byte("45-6789")) {
			t.Errorf("%s shows %s", path, r.Body)
		}
	}

	x.Exec(`do $$ begin
		if exists (select from contact where contact::text ~ '345678|45-6789' or encode(coalesce(tax_identifier, ''), 'escape') ~ '345678|45-6789')
		then raise exception 'kept'; end if; end $$`, nil)

	got, err := whole(t, x, box, ein, ssn, person, company, batch, none)
	if err != nil || len(got) != 5 || got[ein] != "12-3456789" || got[ssn] != "123-45-6789" || got[person] != "123-45-6789" || got[company] != "12-3456789" ||
		got[batch] != "12-3456789" {
		t.Errorf("kept %v, %v", got, err)
	}

	if other, err := whole(t, newTeam(t), box, ein); err != nil || len(other) != 0 {
		t.Errorf("another team reads %v, %v", other, err)
	}

	x.Exec(`update contact set tax_identifier = (select tax_identifier from contact where team_id = @team and id = @from) where team_id = @team and id = @to`,
		db.Args{"from": ein, "to": ssn})

	if _, err := whole(t, x, box, ssn); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("a copied value opens: %v", err)
	}
}

func TestTaxIdentifierChanges(t *testing.T) {
	t.Parallel()
	x, box := newTeam(t), newBox(t)
	one := x.Post("/contacts", object{"type": "vendor", "name": "Plumber", "taxIdentifier": "12-3456789"}).Want(201).ID("id")

	path := "/contacts/" + one.String()
	for _, step := range []struct {
		change      object
		shown, kept string
	}{
		{object{"name": "Roofer"}, "***6789", "12-3456789"},
		{object{"taxIdentifier": "98-7654321"}, "***4321", "98-7654321"},
		{object{"taxIdentifier": nil}, "null", ""},
	} {
		r := x.Put(path, step.change).Want(200)
		if got, err := whole(t, x, box, one); err != nil || got[one] != step.kept || r.String("taxIdentifier") != step.shown {
			t.Errorf("%v: kept %v, %v; shown %s", step.change, got, err, r.Body)
		}
	}

	for _, bad := range []string{"***6789", "12-345678", "1234567890", "123-456789", "12-3456-789", "ABCDEFGHI", " 123456789", "123456789\n", "١٢٣٤٥٦٧٨٩", ""} {
		x.Put(path, object{"taxIdentifier": bad}).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "taxIdentifier")
		x.Post("/contacts", object{"type": "vendor", "name": "V", "taxIdentifier": bad}).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", "taxIdentifier")
	}
}

// A contact made by the program itself has no tax identifier: without the box it would be kept in the open.
func TestAddKeepsNoTaxIdentifier(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	c := contact.Create{Type: contact.Vendor, Name: "Plumber"}

	add := func() error {
		return x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := contact.Add(ctx, tx, &c)
			return err
		})
	}
	if err := add(); err != nil {
		t.Error(err)
	}

	tax := "12-3456789"
	c.TaxIdentifier.Value = &tax

	if err := add(); err == nil {
		t.Error("a tax identifier was taken")
	}
}
