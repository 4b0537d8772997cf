package bank

import (
	"context"
	"fmt"
	"strconv"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Duplicate is a record that can be the same movement as another one, because it came from another source.
type Duplicate struct {
	ID          id.ID   `json:"id"`
	Source      Source  `json:"source"`
	Date        day.Day `json:"date"`
	Description string  `json:"description"`
	UniqueRef   *string `json:"uniqueRef"`
}

// duplicateDays is how far apart two sources date the same movement: a bank books it a few days after somebody has noted it.
const duplicateDays = 3

// duplicateOf holds for, and orders, movements d that can be the same as a movement r: of its account, amount and days, and from another source. Excluding one of the two settles
// it, and so does reconciling both, since each has a transaction of its own then. Days are compared together with the amount, and accounts by "is not distinct from",
// and searches are in the order of amount and day, so that the index of these is taken: where the planner knows nothing of a team, any index with the account or the
// day looks as good to it, and each search would go through all of the account's records.
var duplicateOf = `d.team_id = r.team_id
	and (d.amount, d.date) >= (r.amount, r.date - ` + strconv.Itoa(duplicateDays) + `) and (d.amount, d.date) <= (r.amount, r.date + ` + strconv.Itoa(duplicateDays) + `)
	and d.account_id is not distinct from r.account_id and r.account_id is not null
	and d.status = 'active' and d.type = 'transaction' and r.status = 'active' and r.type = 'transaction'
	and d.source <> r.source and (d.made <> d.amount or r.made <> r.amount)
	order by d.amount, d.date`

// hasDuplicates holds for records r that have any. The offset keeps it a search per record, for any number of records.
var hasDuplicates = `exists (select from bank_record d where ` + duplicateOf + ` offset 0)`

// duplicatesShown is how many duplicates a record lists.
const duplicatesShown = 25

// duplicates fills in what can be the same as records, the nearest in time first.
func duplicates(ctx context.Context, tx *db.Tx, records []Record) error {
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
		select r.id as record_id, d.* from bank_record r cross join lateral (
			select d.id, d.source, d.date, d.description, d.unique_ref from bank_record d where `+duplicateOf+` limit `+strconv.Itoa(duplicatesShown)+`) d
		where r.team_id = @team and r.id = any(@ids) order by r.id, abs(d.date - r.date), d.date, d.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("look for duplicates of bank records: %w", err)
	}
	for i := range found {
		r := &records[at[found[i].RecordID]]
		r.Duplicates = append(r.Duplicates, found[i].Duplicate)
	}
	return nil
}
