package books_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
)

// history is the life of a random team, step by step, over the HTTP API. A step that a rule or a lock refuses is
// part of it; a failure of the service is not.
type history struct {
	*team
	r *rapid.T
	// rnd draws instead of r where several histories of a team run side by side; log takes what r would log, and
	// fail what the case fails with.
	rnd          *rand.Rand
	log          func(format string, args ...any)
	fail         func(format string, args ...any)
	owners       []string
	listings     []string
	periods      []string
	fees         []string
	rates        []string
	mappings     []string
	hands        *sync.Mutex // that a listing changes hands takes several requests
	stays        []string
	transactions []string
	journals     []string
}

// tally counts over all histories what was done and what was refused, by kind of step: a step that never succeeds tries
// nothing.
type tally struct {
	mu   sync.Mutex
	done map[string]int
	not  map[string]int
}

var steps = tally{done: map[string]int{}, not: map[string]int{}}

func (c *tally) count(kind string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if ok {
		c.done[kind]++
	} else {
		c.not[kind]++
	}
}

// report logs what was done and fails when a kind of step never was.
func (c *tally) report(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()

	for kind := range maps.Keys(c.not) {
		if c.done[kind] == 0 && c.not[kind] > 20 {
			t.Errorf("%q was refused %d times and never done: it tries nothing", kind, c.not[kind])
		}
	}

	for _, kind := range slices.Sorted(maps.Keys(c.done)) {
		t.Logf("%-20s done %5d, refused %5d", kind, c.done[kind], c.not[kind])
	}
}

// do sends a request and gives the id of its answer, empty when it was refused.
func (h *history) do(kind, method, path string, body any) string {
	status, answer := h.send(method, path, body)
	h.log("%s %s %v: %d %.300s", method, path, body, status, answer)

	if status >= http.StatusInternalServerError {
		h.fail("%s %s %v: %d %s", method, path, body, status, answer)
	}

	steps.count(kind, status < http.StatusBadRequest)

	if status >= http.StatusBadRequest {
		return ""
	}

	return idOf(answer)
}

func (h *history) draw(low, high int, what string) int {
	if h.rnd != nil {
		return low + h.rnd.IntN(high-low+1)
	}

	return rapid.IntRange(low, high).Draw(h.r, what)
}

func (h *history) often(oneIn int, what string) bool { return h.draw(1, oneIn, what) == 1 }

func one[T any](h *history, what string, from ...T) T {
	if h.rnd != nil {
		return from[h.rnd.IntN(len(from))]
	}

	return rapid.SampledFrom(from).Draw(h.r, what)
}

// look is read for what another history may have deleted: it reports whether it is there.
func (h *history) look(path string, into any) bool {
	status, answer := h.send(http.MethodGet, path, nil)
	return status == http.StatusOK && json.Unmarshal(answer, into) == nil
}

// first is the statement start date of the teams; everything happens in the first third of 2026.
var first = day.Month{Year: 2026, Month: 1}.First()

func (h *history) date(what string) day.Day { return first.AddDays(h.draw(0, 110, what)) }

// cents are small, odd and round amounts.
func (h *history) cents(what string) int64 {
	if h.often(3, what+" round") {
		return int64(h.draw(1, 900, what)) * 1000
	}

	return int64(h.draw(1, 200_001, what))
}

func keep(all *[]string, added string) {
	if added != "" {
		*all = append(*all, added)
	}
}

// begin sets a team up: recognition, owners and listings, taxes, fees, mappings.
func begin(x *team, r *rapid.T) *history {
	x.renew()
	h := &history{team: x, r: r, log: r.Logf, fail: r.Fatalf, hands: &sync.Mutex{}}
	h.changeTeam()

	for i := range h.draw(1, 3, "owners") {
		keep(&h.owners, h.do("setup", "POST", "/contacts", object{"type": "owner", "name": "Owner " + strconv.Itoa(i)}))
	}

	keep(&h.rates, h.do("setup", "POST", "/tax-rates", object{"name": "Tax", "basisPoints": h.draw(0, 30_000, "tax rate")}))

	for i := range h.draw(1, 2, "listings") {
		model := "managed"
		if h.often(6, "co-host") {
			model = "co_host"
		}

		keep(&h.listings, h.do("setup", "POST", "/listings", object{"name": "Listing " + strconv.Itoa(i), "initialOwnership": object{
			"members": h.members(), "reserve": h.draw(0, 3, "reserve") * 10_000, "businessModel": model,
		}}))
	}

	var periods, mappings struct{ Data []struct{ ID string } }
	h.read("/listings/ownership-periods?limit=250", &periods)

	for _, p := range periods.Data {
		h.periods = append(h.periods, p.ID)
	}

	h.read("/reservations/line-mappings?limit=250", &mappings)

	for _, m := range mappings.Data {
		h.mappings = append(h.mappings, m.ID)
	}

	for range h.draw(0, 3, "fees") {
		h.addFee()
	}

	if h.often(2, "own recognition") {
		h.changeMapping()
	}

	return h
}

// members share a listing at random.
func (h *history) members() list {
	left, out := 100_000, list{}
	for i, owner := range h.owners {
		share := left
		if i < len(h.owners)-1 {
			share = h.draw(1, left-(len(h.owners)-1-i), "share")
		}

		out = append(out, object{"contactId": owner, "split": share})
		left -= share
	}

	return out
}

func (h *history) recognition() string {
	return one(h, "recognition", "checkIn", "checkOut", "proRata", "bookedAt")
}

func (h *history) changeTeam() {
	h.do("team", "PUT", "/team", object{"defaultRevenueRecognition": h.recognition(), "longTermStayNights": one[any](h, "long stay", nil, 3, 7)})
}

func (h *history) addFee() {
	kind := one(h, "kind of fee", "managementFee", "cleaningFee", "merchantFee", "bookingChannelFee", "additionalFee")

	body := object{
		"name": "Fee " + strconv.Itoa(len(h.fees)), "type": kind, "rateType": "percentage", "defaultRate": h.draw(1, 100_000, "rate"), "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": h.account(one(h, "debit", "5100", "5110", "5120")), "creditAccountId": h.account(one(h, "credit", "4100", "4110", "4120")),
		"statusFilter": one(h, "statuses", "booked", "canceled", "all"), "ownerStayFilter": one(h, "owner stays", "exclude", "include", "only"),
		"formula": one(h, "formula", "rent", "rent + cleaningFee - discount", "cleaningFee", "merchantFee", "channelFee", "rent - channelFee", "rent + cancellation",
			"20% * rent + guestFee"),
	}
	if h.often(4, "flat") {
		delete(body, "formula")
		body["rateType"], body["defaultRate"], body["chargeBasis"] = "flat", h.draw(1, 9_999, "flat rate"), one(h, "basis", "perReservation", "perNight")
	}

	if h.often(3, "fee's own recognition") {
		body["revenueRecognition"] = h.recognition()
	}

	if h.often(4, "fee's tax") {
		body["taxRateId"], body["taxBehavior"] = h.rates[0], one(h, "fee's tax is", "included", "excluded")
	}

	subscriptions := list{}

	for _, l := range h.listings {
		s := object{"listingId": l}
		if h.often(4, "fee starts") {
			s["startAt"] = h.date("fee start")
		}

		subscriptions = append(subscriptions, s)
	}

	body["listingSubscriptions"] = subscriptions
	keep(&h.fees, h.do("fee", "POST", "/recurring-fees", body))
}

func (h *history) changeFee() {
	if len(h.fees) == 0 {
		h.addFee()
		return
	}

	change := one(h, "change of a fee",
		object{"defaultRate": h.draw(1, 100_000, "new rate")}, object{"status": one(h, "fee's status", "active", "inactive")},
		object{"revenueRecognition": one[any](h, "fee's new recognition", nil, "proRata", "checkOut")}, object{"statusFilter": "all"})
	h.do("change fee", "PUT", "/recurring-fees/"+one(h, "fee", h.fees...), change)
}

func (h *history) changeMapping() {
	change := object{"revenueRecognition": one[any](h, "line's recognition", nil, "checkIn", "checkOut", "proRata", "bookedAt")}
	if h.often(4, "remap") {
		change = object{"accountId": h.account(one(h, "mapped to", "4000", "4010", "4020")), "party": "owners"}
	}

	h.do("mapping", "PUT", "/reservations/line-mappings/"+one(h, "mapping", h.mappings...), change)
}

func (h *history) changeOwnership() {
	period := one(h, "period", h.periods...)
	if h.often(2, "split ownership") {
		h.do("shares", "PUT", "/listings/ownership-periods/"+period, object{"members": h.members()})
		return
	}
	// The listing changes hands: what the period loses at its end a new one takes over, so that every day has an owner.
	h.hands.Lock()
	defer h.hands.Unlock()

	var p struct{ ListingID, StartAt, EndAt string }
	h.read("/listings/ownership-periods/"+period, &p)

	at := h.date("change of hands").String()
	if at <= p.StartAt || p.EndAt != "" && at >= p.EndAt {
		return
	}

	next := object{"listingId": p.ListingID, "startAt": at, "members": h.members()}
	if p.EndAt != "" {
		next["endAt"] = p.EndAt
	}

	if status, _ := h.send("PUT", "/listings/ownership-periods/"+period, object{"endAt": at}); status >= http.StatusBadRequest {
		steps.count("hands", false)
		return
	}

	steps.count("hands", true)

	before := h.periodIDs(p.ListingID)
	h.must("POST", "/listings/ownership-periods", next)

	for id := range h.periodIDs(p.ListingID) {
		if !before[id] {
			h.periods = append(h.periods, id)
		}
	}
}

func (h *history) periodIDs(listing string) map[string]bool {
	var all struct{ Data []struct{ ID string } }
	h.read("/listings/ownership-periods?limit=250&listingIds="+listing, &all)

	out := map[string]bool{}
	for _, p := range all.Data {
		out[p.ID] = true
	}

	return out
}

// work runs what the steps have queued, and has settled stays taken away.
func (h *history) work() {
	h.Work()

	if err := ledger.SettleTeam(h.t.Context(), h.DB, h.ID); err != nil {
		h.fail("settle stays: %v", err)
	}
}

// refreshAll derives every journal of the team anew.
func (h *history) refreshAll() {
	h.must("POST", "/transactions/journal-entries", object{})
	h.must("POST", "/reservations/journal-entries", object{})
	h.work()
}

func (h *history) describe() string {
	return strings.Join([]string{
		strconv.Itoa(len(h.stays)) + " stays", strconv.Itoa(len(h.transactions)) + " transactions", strconv.Itoa(len(h.journals)) + " journals",
	}, ", ")
}
