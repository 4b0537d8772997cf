package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// pmsSystem is a property-management system of the sandbox: where it is, how its rows are changed, and what a bookkeeper
// makes of its figures. Nothing of it comes from the product.
type pmsSystem struct {
	app, path, rows string
	// settings and credentials connect a team to it; the path of the sandbox is added to the address.
	base        string
	credentials object
	// listing and stay are the ids of what is generated, counted from 1; code is the member with the confirmation code.
	listing, stay func(n int) string
	code          string
	// Each change gives the members of a row that become others.
	dearer, kept, lost, ownersOwn func(row object) object
	guest                         func(name string) object
	read                          func(row object) (s pmsStay, counts bool)
}

// pmsStay is what the vendor says of a stay: where and when it is earned, and cents by what the guest pays for.
type pmsStay struct {
	listing, day string
	cents        map[string]int64
	total        int64 // what the guest pays together
}

// ourProtocol is the sandbox of the published protocol.
var ourProtocol = pmsSystem{
	app: "pmsProtocol", path: "/pms", rows: "reservations", base: "/pms", credentials: object{"token": sandboxKey},
	listing: func(n int) string { return fmt.Sprintf("lst_0_%06d", n) },
	stay:    func(n int) string { return fmt.Sprintf("res_0_%07d", n) },
	code:    "code",
	dearer: func(row object) object {
		lines, _ := row["lines"].([]any)

		return object{
			"total": decimal(centsIn(row["total"]) + 6234), "lines": append(lines, object{"type": "guestFee", "description": "Pets", "amount": "50"}),
		}
	},
	kept: func(row object) object {
		return object{
			"status": "canceled", "canceledAt": row["checkIn"], "total": "80.25", "lines": []any{object{"type": "retained", "amount": "80.25"}},
		}
	},
	lost: func(row object) object {
		return object{"status": "canceled", "canceledAt": row["checkIn"], "total": "0", "lines": []any{}}
	},
	ownersOwn: func(object) object { return object{"ownerStay": true} },
	guest:     func(name string) object { return object{"guest": object{"name": name}} },
	read: func(row object) (s pmsStay, counts bool) {
		s = pmsStay{fmt.Sprint(row["listingId"]), fmt.Sprint(row["checkIn"]), map[string]int64{}, centsIn(row["total"])}
		if row["status"] == "canceled" {
			s.day = fmt.Sprint(row["canceledAt"])
		}

		for _, l := range members(row["lines"]) {
			s.cents[fmt.Sprint(l["type"])] += centsIn(l["amount"])
		}

		return s, row["ownerStay"] == false
	},
}

// hostawaySystem is the sandbox of Hostaway.
var hostawaySystem = pmsSystem{
	app: "hostaway", path: "/hostaway", rows: "reservations", base: "/hostaway/v1", credentials: object{"accountId": "10001", "apiKey": sandboxKey},
	listing: func(n int) string { return strconv.Itoa(40_000 + n) },
	stay:    func(n int) string { return strconv.Itoa(1_000_000 + n) },
	code:    "confirmationCode",
	dearer: func(row object) object {
		// A fee for pets that the total has, a tax that the channel pays beyond it, and 12.34 that no field explains.
		fields, _ := row["financeField"].([]any)

		return object{"totalPrice": json.Number(decimal(centsIn(row["totalPrice"]) + 6234)), "financeField": append(
			fields, financeField("fee", "petFee", "50.00", 1), financeField("tax", "airbnbTransientOccupancyTax", "7.77", 0),
		)}
	},
	kept: func(row object) object {
		fields, _ := row["financeField"].([]any)

		return object{
			"status": "cancelled", "cancellationDate": row["arrivalDate"],
			"financeField": append(fields, financeField("totals", "cancellationPayout", "80.25", 0)),
		}
	},
	lost:      func(row object) object { return object{"status": "cancelled", "cancellationDate": row["arrivalDate"]} },
	ownersOwn: func(object) object { return object{"status": "ownerStay"} },
	guest:     func(name string) object { return object{"guestName": name} },
	read:      readHostaway,
}

// financeField is a field of the finances at Hostaway.
func financeField(kind, name, total string, included int) object {
	return object{"type": kind, "name": name, "total": json.Number(total), "isIncludedInTotalPrice": included, "isDeleted": 0}
}

// readHostaway reads a reservation of Hostaway.
func readHostaway(row object) (s pmsStay, counts bool) {
	s = pmsStay{fmt.Sprint(row["listingMapId"]), fmt.Sprint(row["arrivalDate"]), map[string]int64{}, centsIn(row["totalPrice"])}

	// Of a stay that is canceled only the payout counts.
	if row["status"] == "cancelled" {
		s.day, s.total = fmt.Sprint(row["cancellationDate"]), 0

		for _, f := range members(row["financeField"]) {
			if f["name"] == "cancellationPayout" {
				s.cents["retained"], s.total = centsIn(f["total"]), centsIn(f["total"])
			}
		}

		return s, true
	}

	for _, f := range members(row["financeField"]) {
		amount := centsIn(f["total"])

		switch fmt.Sprint(f["name"]) {
		case "baseRate":
			s.cents["rent"] += amount
		case "cleaningFee":
			s.cents["cleaningFee"] += amount
		case "petFee":
			s.cents["guestFee"] += amount
		case "weeklyDiscount":
			s.cents["discount"] -= amount
		case "lodgingTax":
			s.cents["tax"] += amount
		case "airbnbTransientOccupancyTax":
			s.cents["channelTax"] += amount
			s.total += amount
		}
	}

	return s, row["status"] != "ownerStay"
}

// ownerrezSystem is the sandbox of OwnerRez.
var ownerrezSystem = pmsSystem{
	app: "ownerrez", path: "/ownerrez", rows: "bookings", base: "/ownerrez/v2",
	credentials: object{"email": "sandbox@example.com", "token": sandboxKey},
	listing:     func(n int) string { return strconv.Itoa(40_000 + n) },
	stay:        func(n int) string { return strconv.Itoa(1_000_000 + n) },
	code:        "platform_reservation_number",
	dearer: func(row object) object {
		charges, _ := row["charges"].([]any)

		return object{"total_amount": json.Number(decimal(centsIn(row["total_amount"]) + 6234)), "charges": append(
			charges, object{"type": "surcharge", "description": "Pets", "amount": json.Number("50.00")},
		)}
	},
	kept: func(row object) object {
		return object{"status": "canceled", "total_amount": json.Number("80.25"), "canceled_utc": fmt.Sprint(row["arrival"], "T12:00:00Z")}
	},
	lost: func(row object) object {
		return object{"status": "canceled", "total_amount": 0, "canceled_utc": fmt.Sprint(row["arrival"], "T12:00:00Z")}
	},
	ownersOwn: func(object) object { return object{"type": "owner"} },
	guest:     func(name string) object { return object{"guest": object{"id": 1, "first_name": name}} },
	read: func(row object) (s pmsStay, counts bool) {
		s = pmsStay{fmt.Sprint(row["property_id"]), fmt.Sprint(row["arrival"]), map[string]int64{}, centsIn(row["total_amount"])}

		// What is left of the total of a stay that is canceled is kept.
		if row["status"] == "canceled" {
			s.day, s.cents["retained"] = fmt.Sprint(row["canceled_utc"])[:len("2025-01-01")], s.total
			return s, true
		}

		for _, c := range members(row["charges"]) {
			kind := fmt.Sprint(c["type"], " ", c["description"], " ", c["is_channel_managed"])
			s.cents[map[string]string{
				"rent Rent false": "rent", "rent Weekly discount false": "discount", "surcharge Cleaning fee false": "cleaningFee",
				"surcharge Pets <nil>": "guestFee", "tax Lodging tax false": "tax", "tax Lodging tax true": "channelTax",
			}[kind]] += centsIn(c["amount"])
		}

		return s, row["type"] != "owner"
	},
}

// members returns the objects of a list.
func members(list any) []object {
	all, _ := list.([]any)
	out := make([]object, len(all))

	for i := range all {
		out[i], _ = all[i].(object)
	}

	return out
}

// centsIn returns the amount of a decimal, with two places, in cents.
func centsIn(v any) int64 {
	r, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		panic(fmt.Sprint("no decimal: ", v))
	}

	r.Mul(r, big.NewRat(100, 1))

	if !r.IsInt() {
		panic(fmt.Sprint("not whole cents: ", v))
	}

	return r.Num().Int64()
}

// decimal writes cents with two places.
func decimal(cents int64) string {
	return strings.TrimPrefix(big.NewRat(cents, 100).FloatString(2), "+")
}
