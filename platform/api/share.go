package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// liftParameters moves parameters that all methods of a path have, in the path and in headers, to the path. Query
// parameters stay with their operation, because refusals of undeclared ones point there; an operation has a list of
// them even if it takes none.
func (p *publication) liftParameters() {
	among := func(list []any) func(any) bool {
		return func(one any) bool {
			return slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, one) })
		}
	}

	for _, one := range inside(p.root, "paths") {
		item, _ := one.(tree)

		var common []any

		// Keep those that every method has.
		for i, method := range slices.Sorted(maps.Keys(item)) {
			taken, _ := inside(item, method)["parameters"].([]any)
			if i == 0 {
				common = slices.DeleteFunc(slices.Clone(taken), func(one any) bool {
					return p.deref("parameters", one)["in"] == "query"
				})
			}

			common = slices.DeleteFunc(common, func(c any) bool { return !among(taken)(c) })
		}

		// A path with a single method gains nothing.
		lifted := len(item) > 1 && len(common) > 0
		for method := range item {
			op := inside(item, method)

			own, _ := op["parameters"].([]any)
			if lifted {
				own = slices.DeleteFunc(own, among(common))
			}

			op["parameters"] = append([]any{}, own...) // an empty list, not null
		}

		if lifted {
			item["parameters"] = common
		}
	}
}

// shareHeaders moves response headers into components, under their names without the service's prefix.
func (p *publication) shareHeaders() {
	share := func(response any) {
		one, _ := response.(tree)

		headers, _ := one["headers"].(tree)
		for name, header := range headers {
			if ref := p.addComponent("headers", header, strings.TrimPrefix(name, "X-Service-")); ref != nil {
				headers[name] = ref
			}
		}
	}

	p.operations(func(op tree) {
		for _, response := range inside(op, "responses") {
			share(response)
		}
	})

	for _, response := range p.component("responses") {
		share(response)
	}
}

// sharedParameters are the parameters that many operations take alike, with the names under which they are shared. No
// schema has one of these names.
var sharedParameters = map[string]string{
	"page": "PageParameter", "limit": "LimitParameter", "offset": "OffsetParameter", "id": "IdParameter", "dryRun": "DryRunParameter",
	"x-team-id": "TeamParameter", "x-data-region": "RegionParameter", "Idempotency-Key": "IdempotencyKeyParameter",
	"waitSeconds": "WaitSecondsParameter", "ids": "IdsParameter", "uniqueRefs": "UniqueRefsParameter", "shortRefs": "ShortRefsParameter",
	"currency": "CurrencyParameter", "dateRange": "DateRangeParameter", "isDateRangeEndInclusive": "EndInclusiveParameter",
	"locale": "LocaleParameter", "listingIds": "ListingIdsParameter", "viewAs": "ViewAsParameter", "include": "IncludeParameter",
	"startDate": "StartDateParameter", "endDate": "EndDateParameter", "month": "MonthParameter", "statementIds": "StatementIdsParameter",
	"ownerIds": "OwnerIdsParameter", "periodIds": "PeriodIdsParameter", "contactIds": "ContactIdsParameter",
	"connectionIds": "ConnectionIdsParameter", "reservationIds": "ReservationIdsParameter", "accountIds": "AccountIdsParameter",
}

// shareParameters moves the parameters that have a name into components. One that is described in another way stays
// with its operation.
func (p *publication) shareParameters() {
	p.operations(func(op tree) {
		parameters, _ := op["parameters"].([]any)
		for i, parameter := range parameters {
			one, _ := parameter.(tree)
			if name := sharedParameters[fmt.Sprint(one["name"])]; name != "" {
				if ref := p.addComponent("parameters", one, name); ref != nil {
					parameters[i] = ref
				}
			}
		}
	})
}
