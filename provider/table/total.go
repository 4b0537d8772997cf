package table

import (
	"slices"
	"strings"
)

// totals are the folded words with which a footer begins.
var totals = []string{
	"total", "totals", "subtotal", "sub total", "grand total", "sum", "balance carried forward", "carried forward",
	"balance brought forward", "brought forward", "closing balance", "ending balance", "opening balance",
	"beginning balance", "final balance", "end of report", "end of statement", "end of file", "end of list",
	"gesamt", "gesamtsumme", "gesamtbetrag", "summe", "zwischensumme", "ubertrag", "endsaldo", "anfangssaldo",
	"schlusssaldo", "saldovortrag", "kontostand", "ende des berichts",
	"somme", "sous total", "total general", "report a nouveau", "solde final", "solde initial", "nouveau solde",
	"ancien solde", "a reporter", "fin du rapport", "fin du releve",
	"suma", "saldo final", "saldo inicial", "suma y sigue", "fin del informe", "fin del reporte", "saldo anterior",
	"soma", "fim do relatorio", "saldo a transportar", "total geral", //nolint:misspell // Portuguese.
	"totale", "totali", "somma", "saldo finale", "saldo iniziale", "riporto", "a riportare", "fine del rapporto",
	"totale generale", "saldo contabile",
}

// qualifiers are the folded words that a footer has after its first ones. Any other word makes a name of it, such as
// "Total Property Group".
var qualifiers = strings.Fields(`
	amount amounts balance of for the all as at on to from per in period report statement page account transactions
	transaction rows records items entries count debit debits credit credits in out net gross payout payouts fees
	betrag saldo am zum vom bis der die aller umsatze buchungen soll haben konto anzahl eur euro usd gbp chf
	montant solde au du des de la le les operations debit credit debits credits
	importe al del los movimientos operaciones cargos abonos debitos creditos
	valor do da dos das lancamentos importo dei delle movimenti operazioni dare avere finale general geral`)

// IsTotal reports whether a row after the data is a footer: its first text is a word for a total, a balance carried
// forward or the end of the report, and no other cell has a date.
func IsTotal(r *Row) bool {
	first := slices.IndexFunc(r.Cells, func(cell string) bool { return cell != "" })
	if first < 0 || !isTotalText(Fold(r.Cells[first])) {
		return false
	}

	return !slices.ContainsFunc(r.Cells[first+1:], isDateLike)
}

// isTotalText reports whether a folded text is made of words for totals and nothing else but amounts and dates.
func isTotalText(folded string) bool {
	return slices.ContainsFunc(totals, func(start string) bool {
		rest, is := strings.CutPrefix(folded, start)
		if !is || rest != "" && rest[0] != ' ' {
			return false
		}

		for word := range strings.FieldsSeq(rest) {
			_, isMonth := months[word]
			if !isMonth && !isDigit(word[0]) && !slices.Contains(qualifiers, word) {
				return false
			}
		}

		return true
	})
}

// isDateLike reports whether a cell has a date in some order. A number of eight digits is more often an amount.
func isDateLike(cell string) bool {
	parts, ok := splitDate(cell)
	return ok && !parts.isCompact && (parts.fits(dayFirst) || parts.fits(monthFirst))
}
