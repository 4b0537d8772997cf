package console_test

import (
	"cmp"
	"slices"
	"strings"

	"stayledger/web/reference"
)

// scene is what the examples speak of, made for an office: its identifiers take the place of those of the examples,
// by the path before an identifier, or by its name in the examples.
type scene struct {
	paths, ids map[string]string
	// apart has records that one operation alone changes, by its id: they would be in the way of the others.
	apart map[string]string
}

// scene makes what the examples speak of. What they change or delete is not what they refer to, so that one does not
// take away what another needs.
func (o *office) scene() scene {
	o.t.Helper()

	post := func(path string, body object) string {
		made, _ := o.call("POST", path, body, 201)["id"].(string)
		return made
	}
	found := func(path, field, value string) string {
		rows, _ := o.call("GET", path, nil, 200)["data"].(array)
		for _, row := range rows {
			one, _ := row.(object)
			if id, _ := one["id"].(string); one[field] == value {
				return id
			}
		}

		o.t.Fatalf("%s has no %s %s", path, field, value)

		return ""
	}
	account := func(code string) string { return found("/accounts?limit=250", "code", code) }
	owner := func(name string) string {
		return post("/contacts", object{"type": "owner", "name": name, "email": "ada@example.com"})
	}
	listing := func(name, owner string) string {
		return post("/listings", object{"name": name, "initialOwnership": object{"members": array{object{"contactId": owner, "split": 100000}}}})
	}
	stay := func(listing, day string) string {
		return post("/reservations", object{"listingId": listing, "checkIn": day + "1", "checkOut": day + "3", "lines": array{object{"type": "rent", "amount": 100000}}})
	}
	fee := func(name string) string {
		return post("/recurring-fees", object{
			"name": name, "type": "managementFee", "rateType": "percentage", "defaultRate": 20000, "formula": "rent",
			"debitAccountId": account("5100"), "debitParty": "owners", "creditAccountId": account("4100"), "creditParty": "manager",
		})
	}

	o.call("PUT", "/team", object{"dailyGlSummary": true}, 200)

	ann, ben := owner("Ann Stone"), owner("Ben Stone")
	house, barn := listing("Beach House One", ann), listing("Barn", ben)
	kept, changed := stay(house, "2026-01-1"), stay(barn, "2026-02-1")
	management := fee("Management of houses")
	bill := object{"type": "expense", "date": "2026-01-20", "lines": array{object{"accountId": account("5200"), "amount": 5000, "listingId": house}}}
	hardware := post("/bank-rules", object{
		"name": "Hardware", "transactionType": "expense", "conditions": array{object{"type": "description", "operator": "contains", "value": "depot"}},
		"lines": array{object{"splitMode": "remainder", "accountId": account("5200")}},
	})
	lines := array{object{"accountId": account("5200"), "centTotal": 5000}, object{"accountId": account("2200"), "centTotal": -5000}}
	linked := o.call("POST", "/connections", object{
		"appId": "nacha", "name": "Bank", "settings": object{
			"immediateDestination": "021000021", "immediateDestinationName": "BANK", "immediateOrigin": "1234567890", "immediateOriginName": "SEASIDE",
			"companyName": "SEASIDE", "companyIdentification": "1234567890", "odfiRouting": "02100002",
		},
	}, 202)["resource"].(object)
	bank, _ := linked["id"].(string)
	atBank := func(item object) string {
		made, _ := o.call("POST", "/account-connections/batch", object{"data": array{item}}, 200)["data"].(array)
		one, _ := made[0].(object)
		id, _ := one["id"].(string)

		return id
	}
	movement := object{"accountId": account("1000"), "date": "2026-02-03", "description": "Payout", "amount": 100, "source": "csv"}
	imported, _ := o.call("POST", "/bank-records/batch", object{"data": array{movement}}, 201)["data"].(array)
	record, _ := imported[0].(object)["id"].(string)
	operation, _ := o.call("POST", "/contacts/csv", object{}, 202)["operationId"].(string)
	period := func(listing string) string {
		return found("/listings/ownership-periods?listingIds="+listing, "listingId", listing)
	}

	flat := post("/listings", object{"name": "Flat"})

	return scene{
		apart: map[string]string{"setListingParent": flat, "removeListingParent": flat},
		paths: map[string]string{
			"/account-categories": found("/account-categories", "name", "Property expenses"), "/accounts": account("1010"),
			"/account-connections": atBank(object{"name": "Checking", "type": "checking"}), "/bank-records": record, "/bank-rules": hardware, "/connections": bank, "/contacts": ben,
			"/general-ledger/journals": post("/general-ledger/journals", object{"date": "2026-02-01", "lines": lines}),
			"/listings":                barn, "/listings/ownership-periods": period(barn), "/operations": operation,
			"/recurring-fees": fee("Management of barns"), "/recurring-fees/listing-periods": post("/recurring-fees/listing-periods", object{"recurringFeeId": management, "listingId": barn}),
			"/reports/owner-statement-summaries-per-layout/details": ann, "/reservations": changed,
			"/reservations/line-mappings":    post("/reservations/line-mappings", object{"lineType": "parking", "accountId": account("4020"), "party": "owners"}),
			"/reservations/{id}/adjustments": post("/reservations/"+changed+"/adjustments", object{"type": "financial", "amount": 500, "accountId": account("4000")}),
			"/statement-layouts":             post("/statement-layouts", object{"name": "Narrow"}), "/statements": found("/statements?month=2026-02&listingIds="+barn, "status", "draft"),
			"/tax-rates": post("/tax-rates", object{"name": "Sales tax", "basisPoints": 8000}), "/teams": o.id.String(), "/transactions": post("/transactions", bill),
			"/transactions/line-mappings": post("/transactions/line-mappings", object{"lineType": "resolution", "appId": "airbnb", "accountId": account("4020")}),
			"/transactions/recurring-templates": post("/transactions/recurring-templates", object{
				"type": "expense", "date": "2026-01-01", "pattern": object{"frequency": "monthly"}, "lines": array{object{"accountId": account("5200"), "amount": 5000, "listingId": house}},
			}),
		},
		ids: map[string]string{
			"accountId": account("5200"), "offsetAccountId": account("2200"), "creditAccountId": account("4100"), "debitAccountId": account("5100"), "taxableLineIds": account("4000"),
			"categoryId": found("/account-categories", "name", "Property expenses"), "contactId": ann, "listingId": house, "parentId": house, "reservationId": kept, "recurringFeeId": management,
			"statementId": found("/statements?month=2026-01&listingIds="+house, "status", "draft"), "transactionId": post("/transactions", bill), "connectionId": bank, "chartBankAccountId": account("1000"),
			"bankAccountId": atBank(object{"name": "Operating", "accountId": account("1010")}),
		},
	}
}

// of is the example of an operation with what is there for what it speaks of.
func (s scene) of(op *reference.Operation) example {
	r := op.Request

	path, template := strings.Split(r.Path, "/"), strings.Split(op.Path, "/")
	for i, part := range template {
		if actual, is := s.paths[strings.Join(template[:i], "/")]; is && strings.HasPrefix(part, "{") {
			path[i] = cmp.Or(s.apart[op.ID], actual)
		}
	}

	r.Path, r.Query = strings.Join(path, "/"), slices.Clone(r.Query)
	for name, actual := range s.ids {
		r.Body = strings.ReplaceAll(r.Body, reference.SampleID(name), actual)
		for i := range r.Query {
			r.Query[i].Text = strings.ReplaceAll(r.Query[i].Text, reference.SampleID(name), actual)
		}
	}

	return example{op.ID, r}
}
