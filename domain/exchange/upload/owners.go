package upload

import (
	"context"
	"encoding/json"
	"fmt"
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

// ownersField is the field of a listing in a file with its owners, and termsField that with the terms of the period.
const (
	ownersField = "owners"
	termsField  = "ownership"
)

// owner is an owner of a listing as a file names it, with a share in parts of 100000; 0 says nothing of the share.
type owner struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	Share int64  `json:"share"`
}

// ownership has the terms of an ownership period in a file.
type ownership struct {
	From          *day.Day     `json:"from,omitempty"`
	Reserve       *money.Cents `json:"reserve,omitempty"`
	BusinessModel string       `json:"businessModel,omitempty"`
}

// finishListing collects the owners of a house from its rows.
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

	// Owners without a share have equal parts of what is left.
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
		r.addFault(rec, "shares", asError, "share")
		rec.issues[len(rec.issues)-1].Context = map[string]any{"share": strconv.FormatFloat(float64(sum)/1000, 'f', -1, 64)}
	}

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

// owners returns the owners that a row names.
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

// WithOwners returns the kind of listings for files that name owners: owners who are not here yet are made, and the
// listing gets its ownership period.
func WithOwners(listings listing.Listings, contacts intake.Kind) intake.Kind {
	k := listings.Intake()
	save := k.Save
	k.Apart = []string{ownersField, termsField}

	k.Save = func(ctx context.Context, tx *db.Tx, from intake.Origin, writes []intake.Write) ([]intake.Saved, error) {
		bare := make([]intake.Write, len(writes))
		for i, w := range writes {
			bare[i] = w
			bare[i].Fields = intake.Values{}

			for name, value := range w.Fields {
				if name != ownersField && name != termsField {
					bare[i].Fields[name] = value
				}
			}
		}

		saved := make([]intake.Saved, len(writes))

		// A house is not saved if its owners are refused.
		for i := range writes {
			err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
				one, err := save(ctx, tx, from, bare[i:i+1])
				if err != nil {
					return err
				}

				if saved[i] = one[0]; saved[i].Refusal != nil {
					return nil
				}

				return setOwners(ctx, tx, listings, &contacts, saved[i].ID, writes[i].Fields)
			})

			switch {
			case err == nil:
			case apierr.IsRefusal(err):
				saved[i] = intake.Saved{Refusal: apierr.From(err)}
			default:
				return nil, err
			}
		}

		return saved, nil
	}

	return k
}

// setOwners gives a listing the owners that a file names.
func setOwners(
	ctx context.Context, tx *db.Tx, listings listing.Listings, contacts *intake.Kind, one id.ID, fields intake.Values,
) error {
	var (
		all   []owner
		terms ownership
	)

	if json.Unmarshal(fields[ownersField], &all) != nil || json.Unmarshal(fields[termsField], &terms) != nil {
		return nil
	}

	made := &listing.CreatedTerms{}

	for _, o := range all {
		member, err := findOwner(ctx, tx, contacts, &o)
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

	return listings.BeginOwnership(ctx, tx, one, made)
}

// findOwner returns the owner with an e-mail address or a name, who is made if there is none. It fails for a name of
// several contacts.
func findOwner(ctx context.Context, tx *db.Tx, contacts *intake.Kind, o *owner) (id.ID, error) {
	n := newNames()

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

	saved, err := contacts.Save(ctx, tx, intake.Origin{IsFile: true}, []intake.Write{{Fields: fields}})

	switch {
	case err != nil:
		return id.ID{}, fmt.Errorf("make the owner of a listing: %w", err)
	case saved[0].Refusal != nil:
		return id.ID{}, saved[0].Refusal
	}

	return saved[0].ID, nil
}
