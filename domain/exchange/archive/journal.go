package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// posting is an entry of the books with the names that a journal shows.
type posting struct {
	Day            day.Day
	TxnCode        string
	Ledger         string
	Currency       money.Currency
	Cents          money.Cents
	Account        string
	Classification string
	Party          *string
	Listing        *string
	Description    string
	ID             id.ID
}

// writeJournal writes the active entries of the trust and operating books as a journal that hledger reads. A posting
// is a transaction; its ledger, and the party and listing of each entry, are tags. Imported statements are no part
// of the books.
func writeJournal(ctx context.Context, tx *db.Tx, to io.Writer) error {
	w := bufio.NewWriter(to)

	currencies, err := db.Select[money.Currency](ctx, tx, `select distinct currency from ledger_entry where team_id = @team order by 1`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("list the currencies of the books: %w", err)
	}

	// hledger shows amounts with the places that these lines have.
	for _, c := range currencies {
		_, _ = fmt.Fprintf(w, "commodity %s\n", sample(c))
	}

	if err := declareAccounts(ctx, tx, w); err != nil {
		return err
	}

	var last posting

	err = db.Each(ctx, tx, db.Stmt{SQL: `
		select e.txn_at as day, e.txn_code, e.ledger, e.currency, e.cent_total as cents, coalesce(a.code || ' ', '') || a.name as account,
			c.classification, e.party, l.name as listing, e.description, e.id
		from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			join account_category c on c.team_id = a.team_id and c.id = a.category_id
			left join listing l on l.team_id = e.team_id and l.id = e.listing_id
		where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical'
		order by e.txn_at, e.txn_code, e.ledger, e.currency, e.id`, Args: db.Args{"team": tx.Team}}, func(p posting) error {
		if p.Day != last.Day || p.TxnCode != last.TxnCode || p.Ledger != last.Ledger || p.Currency != last.Currency {
			code, text := plain(p.TxnCode, "()"), plain(p.Description, ";|")
			_, _ = fmt.Fprintf(w, "\n%s (%s) %s  ; ledger:%s\n", p.Day, code, text, p.Ledger)
		}

		last = p
		_, err := fmt.Fprintf(w, "    %s  %s%s\n", accountName(&p), amount(p.Cents, p.Currency), tags(&p))

		return err
	})
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}

	return w.Flush()
}

// roots are the first parts of account names, from which hledger knows what kind of account it is.
var roots = map[string]string{
	"asset": "assets", "liability": "liabilities", "revenue": "revenues", "expense": "expenses",
}

// amount returns an amount with its currency as hledger reads it. Debits are positive, as there.
func amount(cents money.Cents, of money.Currency) string { return of.Code() + " " + cents.Decimal(of) }

// sample returns an amount of a currency with its decimal mark, which hledger asks for also where there are no places.
func sample(of money.Currency) string {
	if of.MinorDigits() == 0 {
		return of.Code() + " 0."
	}

	return amount(0, of)
}

// declareAccounts writes the accounts that have entries, for the strict checks of hledger.
func declareAccounts(ctx context.Context, tx *db.Tx, w io.Writer) error {
	type declared struct{ Account, Classification string }

	return db.Each(ctx, tx, db.Stmt{SQL: `
		select coalesce(a.code || ' ', '') || a.name as account, c.classification
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where a.team_id = @team and exists (select from ledger_month m where m.team_id = a.team_id and m.account_id = a.id)
		order by a.code, a.name`, Args: db.Args{"team": tx.Team}}, func(d declared) error {
		_, err := fmt.Fprintf(w, "account %s\n", accountName(&posting{Account: d.Account, Classification: d.Classification}))
		return err
	})
}

// tags returns the party and the listing of an entry as a comment with tags.
func tags(p *posting) string {
	var all []string
	if p.Party != nil {
		all = append(all, "party:"+*p.Party)
	}

	if p.Listing != nil {
		all = append(all, "listing:"+plain(*p.Listing, ",:"))
	}

	if all == nil {
		return ""
	}

	return "  ; " + strings.Join(all, ", ")
}

// plain returns a text in one line, without two spaces, which end names, and with a hyphen for each of the special
// characters.
func plain(text, special string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(special, r) {
			return '-'
		}

		return r
	}, text)

	return strings.Join(strings.Fields(text), " ")
}

// accountName returns the name of an account. Brackets and marks mean something where it begins.
func accountName(p *posting) string {
	return roots[p.Classification] + ":" + strings.TrimLeft(plain(p.Account, ":;"), "([*!")
}
