package paper

// statement returns the document with all its text in characters that the fonts have and with all labels. It
// changes nothing that the caller shares. The tables of the layout are rewritten when they are laid out.
func (l textCleaner) statement(doc StatementDoc) StatementDoc {
	doc.Title = l.line(doc.Title)
	doc.Currency = l.line(doc.Currency)
	doc.Notes = l.text(doc.Notes)
	doc.Team = l.team(doc.Team)
	doc.Statement.ID = l.line(doc.Statement.ID)
	doc.Statement.Status = l.line(doc.Statement.Status)
	doc.Statement.PeriodStart = l.line(doc.Statement.PeriodStart)
	doc.Statement.PeriodEnd = l.line(doc.Statement.PeriodEnd)
	doc.Listing.Name = l.line(doc.Listing.Name)
	doc.Listing.Address = l.line(doc.Listing.Address)

	// Slices are copied before their elements change.
	doc.Owners = mapCopy(doc.Owners, func(o *StatementOwner) {
		o.Name, o.Address, o.SplitPercent = l.line(o.Name), l.lines(o.Address), l.line(o.SplitPercent)
	})
	doc.Summary = mapCopy(doc.Summary, func(s *SummaryLine) { s.Label = l.line(s.Label) })
	doc.Reservations.Columns = mapCopy(doc.Reservations.Columns, func(s *string) { *s = l.line(*s) })
	doc.Reservations.Rows = mapCopy(doc.Reservations.Rows, func(r *ReservationRow) {
		r.GuestName, r.ConfirmationCode, r.Channel = l.line(r.GuestName), l.line(r.ConfirmationCode), l.line(r.Channel)
		r.CheckIn, r.CheckOut = l.line(r.CheckIn), l.line(r.CheckOut)
	})

	// The three tables of lines have the same texts.
	line := func(s *StatementLine) { s.Date, s.Description = l.line(s.Date), l.line(s.Description) }
	doc.Other = mapCopy(doc.Other, line)
	doc.Expenses = mapCopy(doc.Expenses, line)
	doc.Payouts = mapCopy(doc.Payouts, line)
	doc.Labels = l.labels(doc.Labels)

	return doc
}

// mapCopy returns a copy of all with every element changed.
func mapCopy[T any](all []T, change func(*T)) []T {
	changed := append([]T(nil), all...)
	for i := range changed {
		change(&changed[i])
	}

	return changed
}
