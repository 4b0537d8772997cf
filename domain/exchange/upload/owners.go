package upload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"stayledger/domain/property/listing"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/table"
)

// A listing from a file has two more fields: its owners, and the terms for their ownership period.
const (
	ownersField = "owners"
	termsField  = "ownership"
)

// owner is the owner of a listing as a file names it. Share is in parts of 100000, 0 if the file does not say.
type owner struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	Share int64  `json:"share"`
}

// ownership has the terms of an ownership period as a file states them.
type ownership struct {
	From          *day.Day     `json:"from,omitempty"`
	Reserve       *money.Cents `json:"reserve,omitempty"`
	BusinessModel string       `json:"businessModel,omitempty"`
}

// finishListing collects the owners of a house from its rows. It adds a fault if their shares are not 100 percent.
func finishListing(r *reader, rec *record) {
	var (
		all   []owner
		known int64
		open  []int
	)

	for _, row := range append([]*record{rec}, rec.parts...) {
		for _, o := range row.owners(r, rec) {
			if o.Share == 0 {
				open = append(open, len(all))
			}

			known += o.Share
			all = append(all, o)
		}
	}

	if rec.lines = nil; len(all) == 0 {
		return
	}

	// Owners without a share have equal parts of the rest. The first owners get the indivisible remainder.
	for i, at := range open {
		left := listing.Whole - known
		all[at].Share = left / int64(len(open))

		if int64(i) < left%int64(len(open)) {
			all[at].Share++
		}
	}

	var sum int64
	for _, o := range all {
		sum += o.Share
	}

	if sum != listing.Whole {
		percent := strconv.FormatFloat(float64(sum)/1000, 'f', -1, 64)
		r.addFault(rec, "shares", asError, "share").Context = map[string]any{"share": percent}
	}

	// The terms are in the first row alone.
	terms := ownership{BusinessModel: rec.word("businessModel")}
	if rec.get("ownedFrom") != nil {
		terms.From = &rec.date[rec.kind.find("ownedFrom")]
	}

	if rec.get("reserve") != nil {
		reserve := money.Cents(rec.cents("reserve"))
		terms.Reserve = &reserve
	}

	rec.setMore(ownersField, mustEncode(all))
	rec.setMore(termsField, mustEncode(terms))
}

// owners returns the owners in a row: a list in one cell, and an owner in columns.
func (rec *record) owners(r *reader, head *record) (out []owner) {
	for part := range strings.SplitSeq(rec.text[rec.kind.find("owners")], ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}

		o := owner{Name: part}

		if name, share, found := cutShare(part); found {
			n, err := table.Decimal('.').Parse(strings.ReplaceAll(share, ",", "."), sharePlaces)
			if err != nil {
				r.addFault(head, "share", asError, "owners")
			}

			o.Name, o.Share = name, n
		}

		out = append(out, o)
	}

	if name := rec.text[rec.kind.find("owner")]; name != "" || rec.text[rec.kind.find("ownerEmail")] != "" {
		email := rec.text[rec.kind.find("ownerEmail")]
		if name == "" {
			name = email
		}

		out = append(out, owner{Name: name, Email: email, Share: rec.cents("share")})
	}

	return out
}

// cutShare splits a text such as Ann Miller 60%.
func cutShare(text string) (name, share string, found bool) {
	text, found = strings.CutSuffix(text, "%")
	at := strings.LastIndexAny(text, " \u00a0")

	if !found || at < 1 {
		return text, "", false
	}

	return strings.TrimSpace(text[:at]), text[at+1:], true
}

// WithOwners returns the kind of listings for files that name owners. Saving a listing also creates unknown owners and
// begins the ownership period.
func WithOwners(listings listing.Listings, contacts intake.Kind) intake.Kind {
	k := listings.Intake()
	s := &ownerSaver{listings: listings, contacts: contacts, save: k.Save}
	k.Apart, k.Save = []string{ownersField, termsField}, s.saveAll

	return k
}

// ownerSaver saves listings with their owners. Its function save saves listings alone.
type ownerSaver struct {
	listings listing.Listings
	contacts intake.Kind
	save     func(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write) ([]intake.Saved, error)
}

// saveAll saves listings and gives them the owners that a file names. It is a Kind.Save.
func (s *ownerSaver) saveAll(
	ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write,
) ([]intake.Saved, error) {
	saved := make([]intake.Saved, len(writes))

	// A house is not saved if its owners are refused.
	refusals, err := db.Halves(ctx, tx, len(writes), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, first, last int) (err error) {
		for i := first; i < last && err == nil; i++ {
			saved[i], err = s.saveOne(ctx, tx, from, &writes[i])
		}

		return err
	})

	for i, refusal := range refusals {
		if refusal != nil {
			saved[i] = intake.Saved{Refusal: apierr.From(refusal)}
		}
	}

	return saved, err
}

// saveOne saves a listing and gives it its owners.
func (s *ownerSaver) saveOne(ctx context.Context, tx *db.Tx, from intake.Origin, w *intake.Write) (intake.Saved, error) {
	// The noun knows nothing about owners, so it gets the other fields.
	bare := *w
	bare.Fields = maps.Clone(w.Fields)
	delete(bare.Fields, ownersField)
	delete(bare.Fields, termsField)

	saved, err := s.save(ctx, tx, from, []intake.Write{bare})
	if err != nil {
		return intake.Saved{}, err
	}

	if refusal := saved[0].Refusal; refusal != nil {
		return intake.Saved{}, refusal
	}

	return saved[0], s.setOwners(ctx, tx, saved[0].ID, w.Fields)
}

// setOwners gives a listing the owners that a file names, if it names any.
func (s *ownerSaver) setOwners(ctx context.Context, tx *db.Tx, one id.ID, fields intake.Values) error {
	if fields[ownersField] == nil || fields[termsField] == nil {
		return nil
	}

	var (
		all   []owner
		terms ownership
	)

	if err := errors.Join(
		json.Unmarshal(fields[ownersField], &all), json.Unmarshal(fields[termsField], &terms),
	); err != nil {
		return fmt.Errorf("decode the owners of a listing: %w", err)
	}

	made := &listing.CreatedTerms{}

	for _, o := range all {
		member, err := s.findOwner(ctx, tx, &o)
		if err != nil {
			return err
		}

		made.Members = append(made.Members, listing.Member{ContactID: member, Split: o.Share})
	}

	made.StartAt, made.Reserve = api.SetIf(terms.From), api.SetIf(terms.Reserve)

	if terms.BusinessModel != "" {
		model := listing.BusinessModel(terms.BusinessModel)
		made.BusinessModel = &model
	}

	return s.listings.BeginOwnership(ctx, tx, one, made)
}

// findOwner returns the contact with the owner's e-mail address or name, and creates it if there is none. It fails if
// several contacts have the name.
func (s *ownerSaver) findOwner(ctx context.Context, tx *db.Tx, o *owner) (id.ID, error) {
	n := newNames()

	// The e-mail address is surer than the name.
	for _, text := range []string{o.Email, o.Name} {
		n.ask(typeContact, text)

		if err := n.load(ctx, tx); err != nil {
			return id.ID{}, err
		}

		switch found := n.find(typeContact, text); {
		case text == "" || found.Count == 0:
		case found.Count > 1:
			return id.ID{}, apierr.BadRequest.At(apierr.IssueNotFound.InBody(ownersField))
		default:
			return found.ID, nil
		}
	}

	fields := intake.Values{"type": quote("owner"), "name": quote(o.Name)}
	if strings.Contains(o.Email, "@") {
		fields["email"] = quote(o.Email)
	}

	saved, err := s.contacts.Save(ctx, tx, intake.Origin{IsFile: true}, []intake.Write{{Fields: fields}})

	switch {
	case err != nil:
		return id.ID{}, fmt.Errorf("make the owner of a listing: %w", err)
	case saved[0].Refusal != nil:
		return id.ID{}, saved[0].Refusal
	}

	return saved[0].ID, nil
}
