package report

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/domain/property/contact"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

// Form is a US information return.
type Form string

// The forms: 1099-MISC for rents collected for owners, 1099-NEC for payments by expenses to contacts, vendors
// or owners, for their work.
const (
	FormMISC Form = "1099-MISC"
	FormNEC  Form = "1099-NEC"
)

// Enum returns the forms.
func (Form) Enum() []string { return []string{string(FormMISC), string(FormNEC)} }

// Exempt says why an amount need not be reported.
type Exempt string

// The reasons.
const (
	BelowThreshold Exempt = "belowThreshold"
	Corporation    Exempt = "corporation"
)

// Enum returns the reasons.
func (Exempt) Enum() []string { return []string{string(BelowThreshold), string(Corporation)} }

// InformationReturns are the figures of a year's information returns, by form and name.
type InformationReturns struct {
	Year       int64               `json:"year"`
	Currency   money.Currency      `json:"currency" doc:"Always usd: other currencies are not part of these forms."`
	Thresholds []Threshold         `json:"thresholds"`
	Data       []InformationReturn `json:"data"`
	Pagination page.Pagination     `json:"pagination"`
}

// Threshold is the amount from which a form is due, from a year on.
type Threshold struct {
	Form      Form        `json:"form"`
	SinceYear int64       `json:"sinceYear"`
	Cents     money.Cents `json:"cents"`
}

// InformationReturn is one recipient's figure.
type InformationReturn struct {
	Form          Form                 `json:"form"`
	Box           string               `json:"box" doc:"1 on both forms: rents, nonemployee compensation."`
	ContactID     id.ID                `json:"contactId"`
	Name          string               `json:"name"`
	CompanyType   *contact.CompanyType `json:"companyType"`
	TaxIdentifier *string              `json:"taxIdentifier" doc:"Masked; null while none is known."`
	Address       *contact.Address     `json:"address"`
	Amount        money.Cents          `json:"amount" doc:"Owners: gross rents that the manager collected in the year, before fees and expenses, whatever was paid out. Work: what expenses paid the contact, of whatever type, in the year."`
	Reportable    bool                 `json:"reportable"`
	Exempt        *Exempt              `json:"exempt" doc:"Why it is not reportable."`
	Drilldowns    []Drilldown          `json:"drilldowns" doc:"The entries behind the amount; of an ownership with several owners those of all of them, and of a stay that was paid in part, or over years, all of its revenue."`
}

// InformationFilter selects information returns: query parameters, and the body of the export.
type InformationFilter struct {
	Year       int64     `query:"year" json:"year" required:"true" minimum:"2000" maximum:"9999"`
	Form       Form      `query:"form" json:"form,omitempty"`
	ContactIDs page.Refs `query:"contactIds" json:"contactIds,omitempty"`
	Reportable *bool     `query:"reportable" json:"reportable,omitempty" doc:"Only those that must be filed, or only the others."`
}

//go:embed thresholds.json
var thresholdData []byte

// loadThresholds returns the thresholds in force in a year, by form: the latest that began.
func loadThresholds(year int64) ([]Threshold, error) {
	var all []Threshold
	if err := json.Unmarshal(thresholdData, &all); err != nil {
		return nil, fmt.Errorf("read the thresholds: %w", err)
	}

	var out []Threshold

	// Keep one threshold per form, and replace it by a later one.
	for _, t := range all {
		if t.SinceYear > year {
			continue
		}

		at := slices.IndexFunc(out, func(o Threshold) bool { return o.Form == t.Form })
		switch {
		case at < 0:
			out = append(out, t)
		case out[at].SinceYear < t.SinceYear:
			out[at] = t
		}
	}

	return out, nil
}

// exemption returns why a recipient need not be reported, or nil if the form is due. Payments to corporations are not
// reported.
func exemption(r *InformationReturn, limits []Threshold) *Exempt {
	reason := BelowThreshold
	if r.CompanyType != nil && (*r.CompanyType == contact.CCorporation || *r.CompanyType == contact.SCorporation) {
		reason = Corporation
		return &reason
	}

	at := slices.IndexFunc(limits, func(t Threshold) bool { return t.Form == r.Form })
	if at >= 0 && r.Amount >= limits[at].Cents {
		return nil
	}

	return &reason
}

// informationInput is the input of GET /reports/information-returns.
type informationInput struct {
	InformationFilter
	page.Params
}

// informationReturns returns a page of the figures of a year.
func informationReturns(ctx context.Context, tx *db.Tx, in *informationInput) (*InformationReturns, error) {
	all, limits, err := loadInformationReturns(ctx, tx, in.InformationFilter)
	if err != nil {
		return nil, err
	}

	// The figures are computed for all recipients at once, so the page is cut from them.
	from := min(in.Rows(), int64(len(all)))
	to := min(from+in.Limit, int64(len(all)))

	return &InformationReturns{
		Year:       in.Year,
		Currency:   informationCurrency,
		Thresholds: limits,
		Data:       all[from:to],
		Pagination: in.Of(int64(len(all))),
	}, nil
}

// loadInformationReturns returns all selected figures of a year, by form and name, with the thresholds in force.
func loadInformationReturns(
	ctx context.Context,
	tx *db.Tx,
	f InformationFilter,
) ([]InformationReturn, []Threshold, error) {
	limits, err := loadThresholds(f.Year)
	if err != nil {
		return nil, nil, err
	}

	// First add up the amounts of the forms asked for.
	figures := []figure1099{}
	if f.Form != FormNEC {
		if figures, err = loadGrossRents(ctx, tx, f.Year); err != nil {
			return nil, nil, err
		}
	}

	if f.Form != FormMISC {
		paid, err := loadWorkPayments(ctx, tx, f.Year)
		if err != nil {
			return nil, nil, err
		}

		figures = append(figures, paid...)
	}

	// Then add the recipients, and decide for each whether the form is due.
	out, err := loadRecipients(ctx, tx, figures)
	if err != nil {
		return nil, nil, err
	}

	out = slices.DeleteFunc(out, func(r InformationReturn) bool {
		return !f.ContactIDs.Has(r.ContactID)
	})
	for i := range out {
		out[i].Exempt = exemption(&out[i], limits)
		out[i].Reportable = out[i].Exempt == nil
	}

	// Whether it is due is known only now, so this filter comes last.
	if f.Reportable != nil {
		out = slices.DeleteFunc(out, func(r InformationReturn) bool { return r.Reportable != *f.Reportable })
	}

	slices.SortFunc(out, func(a, b InformationReturn) int {
		return cmp.Or(cmp.Compare(a.Form, b.Form), plain.Compare(a.Name, b.Name), a.ContactID.Compare(b.ContactID))
	})

	return out, limits, nil
}

// yearRange returns the first and the last day of a year.
func yearRange(year int64) (from, to day.Day) {
	first := day.Month{Year: int(year), Month: 1}.First()
	return first, day.Month{Year: int(year), Month: 12}.First().LastOfMonth()
}
