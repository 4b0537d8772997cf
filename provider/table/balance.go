package table

// Balances holds amounts against a balance column and so proves their order, sign and reading. The zero value is
// ready.
type Balances struct {
	rows     int // All that were added, with those that were passed over.
	balances int // Those with a balance.
	readings [2]balanceReading
	differs  bool // Some number is another one with a decimal point than with a comma.
}

// balanceReading keeps how far the rows hold with one decimal mark.
type balanceReading struct {
	amount, balance int64 // Of the last row.
	count           int   // Rows with a balance.

	// The index of the first row that breaks each way, plus one; 0 if none does.
	breaks [len(ways)]int
	// What the amounts lead to there, and what the file has.
	expected, stated [len(ways)]int64
	// The index of the first row with more than so many places, plus one.
	placesBreak [balancePlaces + 1]int
}

// way is one way in which amounts lead from one balance to the next.
type way struct{ isNewestFirst, isNegated bool }

var ways = [...]way{{false, false}, {true, false}, {false, true}, {true, true}}

// units are the powers of ten.
var units = [...]int64{1, 10, 100, 1000, 10000}

const (
	balancePlaces = 4       // Numbers are compared with so many: no currency has more.
	balanceLimit  = 1 << 61 // Sums of three numbers stay within an int64.
)

// Proof is what a balance column says about the amounts.
type Proof struct {
	Proved      bool
	Decimal     Decimal // The reading that proves.
	NewestFirst bool
	Negated     bool // Amounts have the opposite sign of money that comes in: money out is positive.
	// FirstBreak is, if nothing is proved, the index of the first row (from 0) at which the best reading breaks. It is
	// -1 if there are less than two balances, or if nothing breaks but two readings hold.
	FirstBreak int
	// Expected is the balance that the amounts lead to at that row, and Stated the one that the file has, in the places
	// of the currency. Both are 0 if numbers are not read.
	Expected, Stated int64
}

// Add notes the cells of a row; those of absent columns are empty. Without an amount, it is the credit less the debit,
// and a debit counts as money out with or without its own minus. A row without a balance is passed over.
func (b *Balances) Add(amount, debit, credit, balance string) {
	index := b.rows
	b.rows++

	if trim(balance) == "" {
		return
	}

	b.balances++

	// Both marks are tried on every row: no row is kept to be tried again.
	var values [2]balanceRow
	for i, decimal := range [...]Decimal{decimalPoint, decimalComma} {
		values[i] = decimal.readBalanceRow(amount, debit, credit, balance)
		b.readings[i].add(index, values[i])
	}

	b.differs = b.differs || values[0] != values[1]
}

// balanceRow is a row in one reading.
type balanceRow struct {
	amount, balance int64
	isNumber        bool // All cells read as numbers.
}

// readBalanceRow reads the cells of a row. A blank cell is zero.
func (d Decimal) readBalanceRow(amount, debit, credit, balance string) balanceRow {
	row := balanceRow{isNumber: true}

	read := func(text string) int64 {
		if trim(text) == "" {
			return 0
		}

		value, err := d.Parse(text, balancePlaces)
		if err != nil || value > balanceLimit || value < -balanceLimit {
			row.isNumber = false
		}

		return value
	}

	row.balance = read(balance)
	if trim(amount) != "" {
		row.amount = read(amount)
	} else {
		// Some banks write a minus in the column of debits, others do not.
		row.amount = read(credit) - max(read(debit), -read(debit))
	}

	// Half a row must not make two readings differ.
	if !row.isNumber {
		return balanceRow{}
	}

	return row
}

// add notes a row in one reading.
func (r *balanceReading) add(index int, row balanceRow) {
	if !row.isNumber {
		r.breakAll(index)
		return
	}

	// Which places are enough for this row is only asked at the end.
	unit := int64(1)
	for places := balancePlaces; places >= 0; places-- {
		if row.amount%unit != 0 || row.balance%unit != 0 {
			setOnce(&r.placesBreak[places], index)
		}

		unit *= 10
	}

	// Then try each way from the row before.
	if r.count > 0 {
		for i, w := range ways {
			expected, stated := w.lead(r.amount, r.balance, row)
			if expected == stated {
				continue
			}

			if r.breaks[i] == 0 {
				r.expected[i], r.stated[i] = expected, stated
			}

			setOnce(&r.breaks[i], index)
		}
	}

	r.amount, r.balance = row.amount, row.balance
	r.count++
}

// lead returns the balance that an amount leads to between two rows in this way, and the one that the rows have.
func (w way) lead(amount, balance int64, next balanceRow) (expected, stated int64) {
	// With the newest first, the upper amount leads from the lower balance to the upper one.
	from, to, moved := balance, next.balance, next.amount
	if w.isNewestFirst {
		from, to, moved = to, from, amount
	}

	if w.isNegated {
		moved = -moved
	}

	return from + moved, to
}

func (r *balanceReading) breakAll(index int) {
	for i := range r.breaks {
		setOnce(&r.breaks[i], index)
	}
}

// setOnce keeps the first index that a field is set to, plus one.
func setOnce(field *int, index int) {
	if *field == 0 {
		*field = index + 1
	}
}

// Decide returns what the column proves for a currency with so many places. Two readings that both hold prove nothing,
// such as two rows with equal amounts, which read in both orders.
func (b *Balances) Decide(places int) Proof {
	var held []Proof

	// A way holds if no row broke it and no number has more places than the currency.
	best := Proof{FirstBreak: -1} // The latest first break.
	places = min(max(places, 0), balancePlaces)

	for i, decimal := range [...]Decimal{decimalPoint, decimalComma} {
		reading := &b.readings[i]
		if i == 1 && !b.differs {
			break // The same numbers again.
		}

		for k, w := range ways {
			broken := firstBreak(reading.breaks[k], reading.placesBreak[places])
			if broken-1 > best.FirstBreak {
				best = Proof{FirstBreak: broken - 1}

				if broken == reading.breaks[k] {
					unit := units[balancePlaces-places]
					best.Expected, best.Stated = reading.expected[k]/unit, reading.stated[k]/unit
				}
			}

			if broken == 0 {
				held = append(held, Proof{
					Proved: true, Decimal: decimal, NewestFirst: w.isNewestFirst, Negated: w.isNegated,
				})
			}
		}
	}

	// More than one way, or nothing to compare, proves nothing.
	switch {
	case b.balances < 2 || len(held) > 1:
		return Proof{FirstBreak: -1}
	case len(held) == 1:
		return held[0]
	default:
		return best
	}
}

// firstBreak returns the earlier of two breaks; 0 is none.
func firstBreak(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}

	return a
}
