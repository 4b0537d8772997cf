package app_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/exchange/merge"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/parts"
)

// idColumns are patterns of the names that columns with ids of a noun's records have: they find those without a foreign
// key.
var idColumns = map[string]string{
	"account":                  `(^|_)account_ids?$`,
	"bank_rule":                `(^|_)bank_rule(_ids?)?$`,
	"connection":               `(^|_)connection_ids?$`,
	"contact":                  `(^|_)contact_ids?$`,
	"fee":                      `(^|_)fee_ids?$`,
	"listing":                  `(^|_)listing_ids?$`,
	"listing_ownership_period": `(^|_)period_ids?$`,
	"payee_method":             `(^|_)(payee|payment)_method_ids?$`,
	"reservation":              `(^|_)reservation_ids?$`,
	"tax_rate":                 `(^|_)tax_rate_ids?$`,
}

// noUses are the columns that refer to a noun's records and keep none, with the reason.
var noUses = map[string]map[string]string{
	"account": {
		"migration_mapping.account_id":         "an import asks for another one",
		"bank_clearing.account_id":             "sums of entries",
		"bank_day_kept.account_id":             "sums of bank records",
		"bank_delta.account_id":                "sums of bank records",
		"csv_import.bank_account_id":           "a file whose rows are refused when the account is gone",
		"bank_reconciliation.account_id":       "belongs to a bank record, which is a use",
		"bank_record.bank_account_id":          "an account connection",
		"bank_rule.account_ids":                "the rule has an issue when the account is gone",
		"gl_summary_sum.account_id":            "sums that were taken stay as they were",
		"ledger_balance_kept.account_id":       "sums of entries",
		"ledger_held_line.account_id":          "what is derived again when the account goes",
		"ledger_day_kept.account_id":           "sums of entries",
		"ledger_delta.account_id":              "sums of entries",
		"ledger_listing_kept.account_id":       "sums of entries",
		"ledger_month_kept.account_id":         "sums of entries",
		"ledger_owner_kept.account_id":         "sums of entries",
		"opening_trial_balance_row.account_id": "goes with the account; what is posted of it is an entry",
	},
	"bank_rule": {
		"bank_rule_run_item.bank_rule_id": "goes with the rule",
		"bank_rule_version.bank_rule_id":  "goes with the rule",
	},
	"connection": {
		"audit_event.connection_id":              "history outlives its records",
		"calendar_block.connection_id":           "a block of a listing that no system has any more",
		"channel_payout.connection_id":           "a connection that has brought records is archived and stays",
		"connection_authorization.connection_id": "goes with the connection",
		"connection_token.id":                    "goes with the connection",
		"csv_import.connection_id":               "its source is a use once rows were taken in",
		"listing_connection.connection_id":       "goes with the connection",
		"payment_batch_counter.connection_id":    "goes with the connection",
		"payment_callback.connection_id":         "goes with the connection",
	},
	"contact": {
		"access_owner_link.contact_id":    "opens statements, which periods keep",
		"bank_rule.vendor_contact_id":     "the rule has an issue when the contact is gone",
		"delivery_email.contact_id":       "history outlives its records",
		"legacy_ownership.contact_id":     "goes with the contact",
		"contact_former_email.contact_id": "goes with the contact",
		"payee_change.contact_id":         "goes with the contact",
		"payee_method.contact_id":         "goes with the contact",
		"transaction_template.contact_id": "a template keeps its accounts only",
	},
	"fee": {
		"fee_condition.fee_id":      "goes with the fee",
		"fee_listing_period.fee_id": "goes with the fee",
		"fee_reference.fee_id":      "goes with the fee",
	},
	"listing": {
		"calendar_block.listing_id":           "goes with the listing",
		"layout_listing.listing_id":           "goes with the listing",
		"legacy_ownership.listing_id":         "goes with the listing",
		"gl_summary_sum.listing_id":           "sums that were taken stay as they were",
		"ledger_balance_kept.listing_id":      "sums of entries",
		"ledger_delta.listing_id":             "sums of entries",
		"ledger_guest_kept.listing_id":        "sums of entries",
		"ledger_guest_settled.listing_id":     "sums of entries",
		"ledger_listing_kept.listing_id":      "sums of entries",
		"ledger_held_line.listing_id":         "derived with the journal of a record, which is a use",
		"listing_connection.listing_id":       "a listing of a system that has no listing here any more",
		"listing_ownership_period.listing_id": "goes with the listing",
		"statement_import.listing_id":         "its statement is a use",
	},
	"listing_ownership_period": {
		"journal_line.ownership_period_id":           "the date says whose it is when the period is gone",
		"reservation_adjustment.ownership_period_id": "the nights say whose it is when the period is gone",
		"transaction_line.ownership_period_id":       "the nights or the date say whose it is when the period is gone",
		"ledger_delta.ownership_period_id":           "sums of entries",
		"ledger_held_line.ownership_period_id":       "derived again when the period goes",
		"ledger_owner_kept.ownership_period_id":      "sums of entries",
		"ledger_source.period_ids":                   "follows from entries",
		"ledger_unsettled.ownership_period_id":       "follows from entries",
		"listing_ownership_member.period_id":         "goes with the period",
		"statement_batch_item.ownership_period_id":   "answers of an operation",
	},
	"payee_method": {
		"payee_change.method_id": "goes with the method",
	},
	"reservation": {
		"ledger_held_line.reservation_id":          "derived again with the journal of the reservation",
		"ledger_unsettled.reservation_id":          "follows from entries",
		"reservation_adjustment.reservation_id":    "goes with the reservation",
		"reservation_line.reservation_id":          "goes with the reservation",
		"reservation_pair.source_id":               "goes with the reservation",
		"reservation_pair.target_id":               "goes with the reservation",
		"reservation_unposted.reservation_id":      "goes with the reservation",
		"transaction_line.detached_reservation_id": "says what the line named before a cutover",
	},
}

// stay are the columns with ids of the records that can be merged, which name a merged record on or need no move, with
// the reason.
var stay = map[string]map[string]string{
	"contact": {
		"contact_former_email.contact_id": "addresses of before",
		"delivery_email.contact_id":       "history outlives its records",
	},
	"listing": {
		"gl_summary_sum.listing_id":       "sums that were taken stay as they were",
		"ledger_balance_kept.listing_id":  "sums of entries",
		"ledger_delta.listing_id":         "sums of entries",
		"ledger_guest_kept.listing_id":    "sums of entries",
		"ledger_guest_settled.listing_id": "sums of entries",
		"ledger_listing_kept.listing_id":  "sums of entries",
		"ledger_held_line.listing_id":     "derived again with the journals that a merge moves",
		"listing.parent_id":               "a group and its members are not merged",
	},
}

// liveDocuments are the columns of JSON of which what is made later depends, by the records in them that can be merged.
var liveDocuments = map[string][]string{
	"contact": {"legacy_statement.lines", "transaction_template.lines"},
	"listing": {"bank_rule.lines", "transaction_template.lines"},
}

// documents are the columns of JSON, which have ids without a name or key in the database, with the reason why what they
// refer to is not kept. Those of which a Part has a use are not here.
var documents = map[string]string{
	"api_idempotency.headers":                    "has no records",
	"audit_event.changes":                        "history outlives its records",
	"audit_event.journal":                        "history outlives its records",
	"audit_event.refs":                           "history outlives its records",
	"bank_rule.conditions":                       "has no records",
	"bank_rule.lines":                            "the rule has an issue when a record is gone",
	"bank_rule_version.rule":                     "history outlives its records",
	"call_budget.uses":                           "has counts of teams, and no records",
	"connection.settings":                        "the funding account is looked up for each payment",
	"contact.address":                            "has no records",
	"csv_import.columns":                         "has no records",
	"csv_import.counts":                          "has no records",
	"csv_import.dependents":                      "what kept an import from being undone",
	"csv_import.form":                            "has no records",
	"csv_import.issue_counts":                    "has no records",
	"csv_import.issues":                          "has no records",
	"csv_import.mapping":                         "has no records",
	"csv_import.outcomes":                        "has no records",
	"csv_import.totals":                          "has no records",
	"csv_import_row.before":                      "checked again when it is given back",
	"csv_import_row.issues":                      "what a person should look at",
	"external_record.refs":                       "names of records at a source",
	"external_record.taken":                      "what a source said last; it is compared with what is here",
	"sync_issue.context":                         "what a person should look at; names of a source",
	"external_record.waiting":                    "checked when it is taken in",
	"job.args":                                   "a task looks up what it works on",
	"listing_ownership_period.deactivation_held": "says what kept a listing active, by reason",
	"legacy_statement.lines":                     "names of another product",
	"legacy_template.net_revenue":                "names of another product",
	"legacy_template.other":                      "names of another product",
	"layout.net_revenue_sections":                "a column of an account that is gone counts nothing",
	"layout.other_sections":                      "a column of an account that is gone counts nothing",
	"listing.address":                            "has no records",
	"listing_connection.address":                 "has no records",
	"payment.issues":                             "has no records",
	"payout_result.issues":                       "answers of an operation",
	"payout_result.payouts":                      "answers of an operation",
	"reservation.metadata":                       "the caller's own",
	"reservation.userdata":                       "the caller's own",
	"reservation_adjustment.metadata":            "the caller's own",
	"statement.layout":                           "frozen copies outlive their records",
	"statement.words":                            "frozen copies outlive their records",
	"statement_batch_item.error":                 "answers of an operation",
	"statement_batch_item.issues":                "answers of an operation",
	"statement_import.lines":                     "checked again when it is posted",
	"statement_import.statement":                 "checked again when it is posted",
	"statement_version.lines":                    "frozen copies outlive their records",
	"sync.counts":                                "has no records",
	"sync.progress":                              "has no records",
	"sync.reasons":                               "has no records",
	"team.billing_address":                       "has no records",
	"team.statement_address":                     "has no records",
	"transaction_held_back.item":                 "dates that were not booked",
	"transaction_template.held_back":             "dates that were not booked",
	"transaction_template.pattern":               "has no records",
}

const referencesSQL = `
	select distinct c.relname::text || '.' || a.attname::text from pg_class c
	join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> 'team_id'
	where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and (
		a.atttypid in ('uuid'::regtype, 'uuid[]'::regtype) and a.attname::text ~ @pattern
		or exists (select from pg_constraint k where k.contype = 'f' and k.conrelid = c.oid and a.attnum = any(k.conkey)
			and k.confrelid::regclass::text = @table))
	order by 1`

const documentsSQL = `
	select table_name::text || '.' || column_name::text from information_schema.columns
	where table_schema = 'public' and data_type in ('json', 'jsonb') order by 1`

// load loads a column of texts from the database.
func load(t *testing.T, sql string, args db.Args) (texts []string) {
	t.Helper()

	if err := apitest.DB(t).Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		texts, err = db.Select[string](ctx, tx, sql, args)
		return err
	}); err != nil {
		t.Fatal(err)
	}

	return texts
}

// A column that refers to a record keeps it from being deleted, or has a reason not to. The columns are found by the
// foreign keys of the database, whatever happens to their rows with a deletion, and by the names of columns.
//
// Proves: ERR-72, RSN-03, RSN-24.
func TestEveryReferenceToARecordIsAUseOrHasAReason(t *testing.T) {
	t.Parallel()

	all := app.Parts(app.External{}, app.Config{})
	for _, u := range all.Used {
		// A column that is not found by its key or name, such as the source of an entry, is fine as a use.
		found := load(t, referencesSQL, db.Args{"pattern": idColumns[u.Of], "table": u.Of})
		known := slices.Sorted(maps.Keys(noUses[u.Of]))

		for _, column := range columns(all.Uses, u.Of) {
			if slices.Contains(found, column) {
				known = append(known, column)
			}
		}

		slices.Sort(known)
		golden.List(t, "columns that refer to a record of "+u.Of, known, found)

		if idColumns[u.Of] == "" {
			t.Errorf("%s: name a pattern of the columns that have its ids", u.Of)
		}
	}
}

// A column that names a contact or a listing is moved by a merge, or has a reason not to be.
//
// Proves: RSN-31, RSN-32.
func TestEveryReferenceIsMovedByAMergeOrHasAReason(t *testing.T) {
	t.Parallel()

	for table, reasons := range stay {
		found := load(t, referencesSQL, db.Args{"pattern": idColumns[table], "table": table})

		known := slices.Sorted(maps.Keys(reasons))

		for _, column := range merge.Columns(table) {
			if slices.Contains(found, column) {
				known = append(known, column)
			}
		}

		slices.Sort(known)
		golden.List(t, "columns that name a "+table, slices.Compact(known), found)

		for _, column := range liveDocuments[table] {
			if !slices.Contains(merge.Columns(table), column) {
				t.Errorf("%s: no merge of a %s moves it", column, table)
			}
		}
	}
}

// Ids in documents have neither a key nor a name, so every document is looked at once.
func TestEveryDocumentIsAUseOrHasAReason(t *testing.T) {
	t.Parallel()

	found := load(t, documentsSQL, nil)
	known := slices.Sorted(maps.Keys(documents))

	for _, use := range app.Parts(app.External{}, app.Config{}).Uses {
		for _, column := range use.Columns {
			if slices.Contains(found, column) {
				known = append(known, column)
			}
		}
	}

	slices.Sort(known)
	golden.List(t, "columns with documents", known, found)
}

// columns returns the columns that are uses of a table's records, each once.
func columns(uses []parts.Use, table string) (out []string) {
	for _, use := range uses {
		if use.Of == table {
			out = append(out, use.Columns...)
		}
	}

	slices.Sort(out)

	return slices.Compact(out)
}

// A use that no noun looks for would keep nothing, and a reason that no use has would be a slip of the pen.
func TestUsesAndReasonsMeet(t *testing.T) {
	t.Parallel()

	all := app.Parts(app.External{}, app.Config{})

	var declared, known []string
	for _, use := range all.Uses {
		declared = append(declared, use.Of+": "+use.Reason)
	}

	for _, u := range all.Used {
		for _, reason := range u.Reasons {
			known = append(known, u.Of+": "+reason)
		}
	}

	slices.Sort(declared)
	slices.Sort(known)
	golden.List(t, "reasons with a use", slices.Compact(declared), known)
}

// errRollback ends a transaction that leaves nothing behind.
var errRollback = errors.New("roll back")

// also is what the row of a column has besides the id: where not every row counts, and what makes it keep its record from
// being archived.
var also = map[string]struct{ columns, values string }{
	"fee.credit_account_id":           {", status", ", 'active'"},
	"ledger_entry.reservation_id":     {", source_id", ", gen_random_uuid()"},
	"payment.payee_method_id":         {", status", ", 'requested'"},
	"reservation.listing_id":          {", status, check_out", ", 'booked', current_date + 2"},
	"transaction_template.account_id": {", status", ", 'active'"},
}

// Each column of each use keeps a record by itself, with the reason that its noun gives. The tables are empty copies that
// hide the real ones for a transaction, so that a row needs nothing but the id and what the use asks for besides it.
//
// Proves: ERR-72, ERR-73, RSN-03, RSN-24.
func TestEveryUseKeepsARecord(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{})
	all := app.Parts(app.External{}, app.Config{})

	err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := hideTables(ctx, tx, all.Uses); err != nil {
			return err
		}

		for _, u := range all.Used {
			for i := range all.Uses {
				if use := &all.Uses[i]; use.Of == u.Of {
					if err := tryUse(ctx, t, tx, u, use); err != nil {
						return err
					}
				}
			}
		}

		return errRollback
	})
	if !errors.Is(err, errRollback) {
		t.Fatal(err)
	}
}

// tryUse gives each column of a use a row, and compares what is found for its record.
func tryUse(ctx context.Context, t *testing.T, tx *db.Tx, u *parts.Usage, use *parts.Use) error {
	t.Helper()

	for _, column := range use.Columns {
		table, name, _ := strings.Cut(column, ".")
		record, value := tx.NewID(), "@id::uuid"

		// Templates have accounts in their lines, too.
		if column == "transaction_template.lines" {
			value = "jsonb_build_array(jsonb_build_object('account_id', @id::uuid))"
		}

		row := also[column]
		if _, err := tx.Exec(ctx, "insert into "+table+" (team_id, "+name+row.columns+") values (@team, "+value+row.values+")",
			db.Args{"team": tx.Team, "id": record}); err != nil {
			return err
		}

		used, err := u.Load(ctx, tx, record)
		if err != nil {
			return err
		}

		want := parts.Used{Deletion: []string{use.Reason}}
		if use.Holds || use.HoldsIf != "" && row.columns != "" {
			want.Archiving = want.Deletion
		}

		if !reflect.DeepEqual(used, want) {
			t.Errorf("a record of %s in %s: %+v, want %+v", u.Of, column, used, want)
		}

		// A record that no row names is free.
		if used, err = u.Load(ctx, tx, tx.NewID()); err != nil || used.Deletion != nil || used.Archiving != nil {
			t.Errorf("another record of %s than the one in %s: %+v, %v", u.Of, column, used, err)
		}
	}

	return nil
}

// hideTables puts empty copies without constraints in place of the tables of uses, up to the end of the transaction.
func hideTables(ctx context.Context, tx *db.Tx, uses []parts.Use) error {
	hidden := map[string]bool{}

	for _, use := range uses {
		for _, column := range use.Columns {
			table, _, _ := strings.Cut(column, ".")
			if hidden[table] {
				continue
			}

			hidden[table] = true

			required, err := db.Select[string](ctx, tx, `select 'alter ' || attname::text || ' drop not null' from pg_attribute
				where attrelid = ('public.' || @table)::regclass and attnum > 0 and not attisdropped and attnotnull`, db.Args{"table": table})
			if err != nil {
				return err
			}

			for _, sql := range []string{
				"create temp table " + table + " (like public." + table + ") on commit drop",
				"alter table pg_temp." + table + " " + strings.Join(required, ", "),
			} {
				if _, err := tx.Exec(ctx, sql, nil); err != nil {
					return err
				}
			}
		}
	}

	return nil
}
