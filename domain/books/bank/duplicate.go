package bank

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Duplicate is a record that can be the same movement as another one: another source gave it, or the same source gave
// it again.
type Duplicate struct {
	ID          id.ID   `json:"id"`
	Source      Source  `json:"source"`
	Date        day.Day `json:"date"`
	Description string  `json:"description"`
	UniqueRef   *string `json:"uniqueRef"`
}

// duplicateDays is how far apart two sources date the same movement: a bank books it a few days after a person has
// noted it.
const duplicateDays = 3

// openPairs are the two ways in which at least r or d is open; once both are reconciled, each has its own transactions.
// They are searched apart, so the second search uses the index of open records.
var openPairs = []string{"r.made <> r.amount", "r.made = r.amount and d.made <> d.amount"}

// duplicateSearches returns queries of movements d that can be the same as a movement r, in the columns of Duplicate,
// each limited to so many. Each reads a few rows for each r, however many are equal to it and whatever the planner
// knows of the team. It takes the first rows from a place of an index on, and leaves out those beyond the end
// afterwards: PostgreSQL compares each row of the amount with an end of several columns. Columns are compared as rows,
// in the order of the indexes by amount, because without statistics the planner likes the indexes over all records in
// an account as much.
func duplicateSearches(most int) (all []string) {
	days, limit := strconv.Itoa(duplicateDays), strconv.Itoa(most)

	// search reads from a place on, among those that meet a condition, to an end.
	search := func(places, condition, by, from, end string) {
		for _, pair := range openPairs {
			all = append(all, places+` cross join lateral (
				select n.id, n.source, n.date, n.description, n.unique_ref from (
					select d.* from bank_record d
					where d.team_id = r.team_id and d.status = 'active' and d.type = 'transaction' and `+pair+` and `+condition+`
						and (`+by+`) >= (`+from+`)
					order by `+by+` limit `+limit+`) n where `+end+`) d`)
		}
	}

	// Another source dates the movement a few days away at most.
	search(`unnest(array['manual', 'csv', 'bankfeed']) s (source)`, `s.source <> r.source`,
		`d.amount, d.account_id, d.source, d.date`, `r.amount, r.account_id, s.source, r.date - `+days,
		`n.amount = r.amount and n.account_id = r.account_id and n.source = s.source and n.date <= r.date + `+days)

	// The same source gave it again, word for word, before or after: a file that was read twice. Movements with
	// references are known by these, and what came together is not the same movement.
	search(`(values ('-infinity'::timestamptz, r.created_at), (r.created_at + interval '1 millisecond', 'infinity')) s (since, until)`,
		`d.unique_ref is null and r.unique_ref is null`,
		`d.amount, d.account_id, d.source, d.date, d.description_hash, d.created_at`,
		`r.amount, r.account_id, r.source, r.date, r.description_hash, s.since`,
		`n.amount = r.amount and n.account_id = r.account_id and n.source = r.source and n.date = r.date and n.description = r.description
			and n.created_at < s.until`)

	return all
}

// hasDuplicates is the SQL condition on records r that have any: rows between two places of an index are there if the
// first one after the start is. The offset keeps it a search for each record, for any number of records.
var hasDuplicates = `(r.status = 'active' and r.type = 'transaction' and r.account_id is not null
	and (exists (select from ` + strings.Join(duplicateSearches(1), db.Fence+`) or exists (select from `) + db.Fence + `)))`

// duplicatesShown is how many duplicates a record lists.
const duplicatesShown = 25

// duplicatesSQL selects the possible duplicates of a record r, the nearest in time first. Each search finds a few rows;
// all of them are put in order and cut to duplicatesShown.
var duplicatesSQL = `
	select d.* from (select d.* from ` + strings.Join(duplicateSearches(duplicatesShown), " union all select d.* from ") + `) d
	where r.status = 'active' and r.type = 'transaction' and r.account_id is not null
	order by abs(d.date - r.date), d.date, d.id limit ` + strconv.Itoa(duplicatesShown)

// loadDuplicates fills in the possible duplicates of records, the nearest in time first.
func loadDuplicates(ctx context.Context, tx *db.Tx, records []Record) error {
	at := make(map[id.ID]int, len(records))

	ids := make([]id.ID, len(records))
	for i := range records {
		at[records[i].ID], ids[i] = i, records[i].ID
		records[i].Duplicates = []Duplicate{}
	}

	if len(records) == 0 {
		return nil
	}

	type row struct {
		RecordID id.ID
		Duplicate
	}

	found, err := db.Select[row](ctx, tx, `
		select r.id as record_id, d.* from bank_record r cross join lateral (`+duplicatesSQL+`) d
		where r.team_id = @team and r.id = any(@ids)
		order by r.id, abs(d.date - r.date), d.date, d.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("look for duplicates of bank records: %w", err)
	}

	for i := range found {
		r := &records[at[found[i].RecordID]]
		r.Duplicates = append(r.Duplicates, found[i].Duplicate)
	}

	return nil
}

// ListWithDuplicates returns those of some records that have possible duplicates which a person has not settled yet.
func ListWithDuplicates(ctx context.Context, tx *db.Tx, records []id.ID) (map[id.ID]bool, error) {
	if len(records) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select r.id from bank_record r where r.team_id = @team and r.id = any(@ids) and `+hasDuplicates,
		db.Args{"team": tx.Team, "ids": records})
	if err != nil {
		return nil, fmt.Errorf("look for duplicates of bank records: %w", err)
	}

	out := make(map[id.ID]bool, len(found))
	for _, v := range found {
		out[v] = true
	}

	return out, nil
}
