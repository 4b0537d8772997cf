package check_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const token = "a-token"

// guide is a server of the protocol, written from its page alone. A fault makes one thing of it wrong.
type guide struct {
	fault  string
	blocks map[string]bool
}

type row = map[string]any

// is reports whether a fault is on.
func (g *guide) is(fault string) bool { return g.fault == fault }

// pageSize is how many rows a page has.
const pageSize = 2

// stays are five reservations, the oldest change first.
func (g *guide) stays() []row {
	line := func(kind, amount string) row { return row{"type": kind, "description": "of " + kind, "amount": amount} }
	stay := func(id, in, out, changed string) row {
		return row{
			"id": id, "listingId": "lst_1", "status": "booked", "code": "C-" + id, "channel": "direct", "checkIn": in, "checkOut": out,
			"currency": "usd", "total": "510.00", "payout": "500.00", "channelFee": "10.00", "changedAt": changed,
			"lines": []row{line("rent", "500.00"), line("discount", "-40.00"), line("tax", "50.00"), line("channelTax", "7.00")},
		}
	}

	all := []row{
		stay("r1", "2020-03-01", "2020-03-04", "2020-01-01T10:00:00Z"), stay("r2", "2020-03-04", "2020-03-06", "2020-01-02T10:00:00Z"),
		stay("r3", "2020-03-08", "2020-03-12", "2020-01-03T10:00:00Z"), stay("r4", "2020-03-12", "2020-03-13", "2020-01-04T10:00:00Z"),
		stay("r5", "2020-03-20", "2020-03-21", "2020-01-05T10:00:00Z"),
	}

	// One is canceled and keeps a part, and one is nights of the owner, which need no currency.
	all[3]["status"], all[3]["total"], all[3]["payout"] = "canceled", "100.00", nil
	all[3]["lines"] = []row{line("retained", "90.00"), line("retainedTax", "10.00")}
	all[4] = row{"id": "r5", "listingId": "lst_1", "status": "booked", "ownerStay": true, "checkIn": "2020-03-20", "checkOut": "2020-03-21", "changedAt": all[4]["changedAt"]}

	g.spoilStays(all, line)

	return all
}

// spoilStays makes rows wrong.
func (g *guide) spoilStays(all []row, line func(kind, amount string) row) {
	switch g.fault {
	case "a status of its own":
		all[1]["status"] = "confirmed\x1b[31m"
	case "a stay without nights":
		all[1]["checkOut"] = all[1]["checkIn"]
	case "an amount with a comma":
		all[1]["total"] = "510,00"
	case "a line without a type":
		all[1]["lines"] = []row{line("", "510.00")}
	case "a discount above zero":
		all[1]["lines"] = []row{line("rent", "500.00"), line("discount", "10.00")}
	case "a stamp that is no instant":
		all[1]["changedAt"] = "yesterday"
	case "the newest first":
		slices.Reverse(all)
	case "a listing that is not given":
		all[1]["listingId"] = "lst_9"
	case "lines that do not add up":
		all[1]["total"] = "511.00"
	case "a payout that is the total":
		all[1]["payout"] = "510.00"
	case "a canceled stay with all its lines":
		all[3]["lines"] = []row{line("rent", "500.00"), line("tax", "50.00")}
	case "an id with a blank":
		all[1]["id"] = "r 2"
	case "guests as a word":
		all[1]["guests"] = "two"
	}
}

// ServeHTTP answers a request.
func (g *guide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isOwn := r.Header.Get("Authorization") == "Bearer "+token
	q := r.URL.Query()

	switch {
	case !isOwn && !g.is("any token"):
		w.WriteHeader(http.StatusUnauthorized)
	case g.is("a redirect") && r.URL.Path == "/listings":
		http.Redirect(w, r, "/v2/listings", http.StatusFound)
	case r.Method == http.MethodGet && r.URL.Path == "/account":
		g.answer(w, row{"id": pick(g.is("an account without an id"), "", "acc_1"), "name": "Rentals"})
	case r.Method == http.MethodGet && r.URL.Path == "/listings":
		g.page(w, q.Get("page"), "listings", g.listings(), row{})
	case r.Method == http.MethodGet && r.URL.Path == "/reservations":
		g.reservations(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/payouts" && !g.is("no payouts"):
		g.page(w, r.URL.Query().Get("page"), "payouts", []row{g.payout()}, row{"mark": "", "complete": true})
	case r.Method == http.MethodPost && r.URL.Path == "/reservations/lookup" && !g.is("no lookup"):
		g.lookUp(w, r)
	case r.URL.Path == "/webhook" && !g.is("no messages"):
		w.WriteHeader(pick(g.is("messages that fail"), http.StatusInternalServerError, http.StatusNoContent))
	case strings.HasPrefix(r.URL.Path, "/blocks/") && !g.is("no blocks"):
		g.block(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// listings are three, one of them a unit of another.
func (g *guide) listings() []row {
	all := []row{
		{"id": "lst_1", "name": "House", "currency": "usd"},
		{"id": "lst_2", "name": "Upper floor", "parentId": "lst_1", "unit": "2"},
		{"id": "lst_3", "name": "Barn", "currency": "eur", "archived": true},
	}

	switch g.fault {
	case "a listing without a name":
		all[1]["name"] = " "
	case "a currency that there is not":
		all[0]["currency"] = "xyz"
	case "a parent that is not given":
		all[1]["parentId"] = "lst_9"
	case "a listing that comes twice":
		all[2] = all[0]
	case "archived as a text":
		all[2]["archived"] = "yes"
	}

	return all
}

// reservations answers with a page of reservations.
func (g *guide) reservations(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, to := q.Get("from"), q.Get("to")

	var rows []row

	for _, x := range g.stays() {
		in, _ := x["checkIn"].(string)
		out, _ := x["checkOut"].(string)
		isLate := to != "" && pick(g.is("to without its day"), in >= to, in > to)
		isEarly := from != "" && pick(g.is("from without its night"), in < from, out <= from)

		// The mark is the present: nothing has changed since.
		if !isLate && !isEarly && (q.Get("since") == "" || g.is("since that is ignored")) {
			rows = append(rows, x)
		}
	}

	head := row{"mark": "2020-06-01 10:00:00 (ours)", "complete": q.Get("since") == ""}

	switch g.fault {
	case "complete as a text":
		head["complete"] = "yes"
	case "a mark of two lines":
		head["mark"] = "a\nb"
	case "no mark":
		head["mark"] = ""
	case "a mark that is forgotten":
		if q.Get("since") != "" {
			w.WriteHeader(http.StatusGone)
			return
		}
	case "ids that change":
		g.blocks["read"] = true

		for _, x := range rows {
			id, _ := x["id"].(string)
			x["id"] = id + "_" + strconv.Itoa(len(g.blocks))
			g.blocks[strconv.Itoa(len(g.blocks))] = true
		}
	}

	g.page(w, q.Get("page"), "reservations", rows, head)
}

// payout is a sum for one stay.
func (g *guide) payout() row {
	return row{
		"id": "pay_1", "date": "2020-03-05", "currency": "usd", "amount": pick[any](g.is("a payout without an amount"), nil, pick(g.is("a payout that is off"), "505.00", "500.00")),
		"members": []row{{"reservationId": "r1", "gross": "510.00", "fees": "10.00"}},
	}
}

// page answers with a page of rows. Its name is where it begins, with a blank.
func (g *guide) page(w http.ResponseWriter, name, list string, rows []row, head row) {
	at, err := strconv.Atoi(strings.TrimPrefix(name, "from "))
	if name != "" && err != nil && !g.is("the first page for any name") {
		w.WriteHeader(http.StatusGone)
		return
	}

	after := strconv.Itoa(at + pageSize)
	at = min(at, len(rows))
	end := min(at+pageSize, len(rows))
	head["next"] = pick(end < len(rows), "from "+strconv.Itoa(end), "")
	head[list] = append([]row{}, rows[at:end]...)

	switch {
	case g.is("a page that names itself") && end < len(rows) && at > 0:
		head["next"] = name
	case g.is("pages in a circle") && at > 0:
		head["next"] = "from " + pick(at == 2, "4", "2")
	case g.is("pages without end") && list == "reservations":
		head["next"] = "from " + after

		head[list] = append([]row{}, rows[:min(1, len(rows))]...)
	case g.is("no list") && list == "listings":
		delete(head, list)
	}

	g.answer(w, head)
}

// lookUp answers with reservations by their ids.
func (g *guide) lookUp(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IDs []string `json:"ids"`
	}

	_ = json.NewDecoder(r.Body).Decode(&in)
	found := []row{}

	for _, x := range g.stays() {
		if id, _ := x["id"].(string); slices.Contains(in.IDs, id) && !g.is("a lookup that finds nothing") {
			found = append(found, x)
		}
	}

	switch {
	case g.is("a lookup that fails") || len(found) == 0 && g.is("an unknown id that fails"):
		w.WriteHeader(http.StatusInternalServerError)
		return
	case len(found) == 0 && g.is("an unknown id that is given"):
		found = g.stays()[:1]
		found[0]["id"] = in.IDs[0]
	case len(found) > 0 && g.is("a lookup of other amounts"):
		found[0]["total"], found[0]["lines"] = "1.00", []row{{"type": "rent", "amount": "1.00"}}
	}

	g.answer(w, row{"reservations": found})
}

// block adds or deletes a block.
func (g *guide) block(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ListingID string `json:"listingId"`
	}

	_ = json.NewDecoder(r.Body).Decode(&in)
	has := g.blocks[r.URL.Path]

	switch {
	case r.Method == http.MethodPut && in.ListingID != "lst_1" && in.ListingID != "lst_2" && !g.is("a block of no listing"):
		w.WriteHeader(http.StatusUnprocessableEntity)
	case r.Method == http.MethodPut && has && g.is("a block that is there already"):
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPut:
		g.blocks[r.URL.Path] = true

		w.WriteHeader(http.StatusCreated)
	case !has && g.is("a block that is gone already"):
		w.WriteHeader(http.StatusInternalServerError)
	case !has:
		w.WriteHeader(http.StatusNotFound)
	default:
		delete(g.blocks, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	}
}

// answer writes JSON.
func (g *guide) answer(w http.ResponseWriter, body row) {
	w.Header().Set("Content-Type", pick(g.is("a type of text"), "text/plain", "application/json; charset=utf-8"))

	content, _ := json.Marshal(body)

	if g.is("Latin-1") {
		content = []byte(strings.Replace(string(content), "House", "H\xe4user", 1))
	}

	_, _ = w.Write(content)
}

// pick returns one of two values.
func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}

	return b
}
