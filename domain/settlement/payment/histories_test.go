package payment_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Whatever people do, with whatever keys: no provider pays to a destination of a person whom nobody else has helped, nor to
// one that is younger than the hold without a second person; none pays more than the rules free, or than the owners of a
// bill have; the contact is written to at each address; and a published statement shows for ever what it showed.
//
// MONEY_HISTORIES is how many histories are lived, 100 to a team; MONEY_SEED repeats a run.
func TestMoneyLeavesByTheRules(t *testing.T) {
	t.Parallel()

	const lanes, perTeam = 4, 100

	histories := 24
	if n, err := strconv.Atoi(os.Getenv("MONEY_HISTORIES")); err == nil {
		histories = n
	}

	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("MONEY_SEED"), 10, 64); err == nil {
		seed = n
	}

	for lane := range lanes {
		t.Run(strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)

			dice, counted := rand.New(rand.NewPCG(seed, uint64(lane))), map[string]int{}

			var m *market

			for n := range histories / lanes {
				if n%perTeam == 0 {
					m = newMarket(t, dice, lane)
				}

				m.live(n, counted)

				if t.Failed() {
					return
				}
			}

			t.Logf("lived %v", counted)
		})
	}
}

// market is a team in which histories are lived.
type market struct {
	*till
	t          *testing.T
	dice       *rand.Rand
	people     []*apitest.Team
	guard      string
	holdDays   int
	approvals  int64 // payments from here on wait, 0 for none
	beforeStay int64
}

func newMarket(t *testing.T, dice *rand.Rand, lane int) *market {
	t.Helper()
	m := &market{till: newTill(t), t: t, dice: dice, holdDays: 3, guard: []string{"hold", "approve", "hold", "hold"}[lane], beforeStay: 100}

	for range 4 {
		m.people = append(m.people, m.second())
	}

	settings := object{"destinationGuard": m.guard, "destinationHoldDays": m.holdDays, "defaultRevenueRecognition": "bookedAt"}
	if lane == 2 {
		m.beforeStay = 50
		settings["fundsRelease"] = object{"beforeStay": m.beforeStay}
	}

	m.Put("/team", settings).Want(200)
	m.Work()

	if lane == 3 {
		m.approvals = 10000
		m.limit(object{"approvalFrom": m.approvals})
	}

	return m
}

// place is a payment method as the world knows it.
type place struct {
	id              id.ID
	age             int // days since it was chosen
	author          int
	releasers       []int
	paid, isDefault bool
}

// claim is a payment that waits for approval.
type claim struct {
	approval id.ID
	by       int
	to       *place
}

// tale is one history: an owner with a house, and a vendor who works for it.
type tale struct {
	*market
	n             int
	contacts      [2]id.ID // the owner, the vendor
	places        [2][]*place
	house, period id.ID
	statement     id.ID
	published     string
	reserve       int64
	balance       int64 // by the books
	earnedAfter   int64 // since the statement
	kept          int64 // until the stay to come
	bills         []id.ID
	cents         map[id.ID]int64
	open          int64
	waiting       []*claim
	emails        []string // the present one first
	replaced      []int    // how many days ago each former one was
	letters       map[string]bool
	log           []string
}

func (s *tale) say(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

func (s *tale) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("history %d, guard %s: %s\n%s", s.n, s.guard, fmt.Sprintf(format, args...), strings.Join(s.log, "\n"))
}

// told is why a request was refused.
func told(r *apitest.Response) string {
	if r.Status < 300 {
		return ""
	}

	return string(r.Body)
}

// at keeps a request from being sent dry first: there are many.
func at(path string) string { return path + "?dryRun=false" }

func (m *market) live(n int, counted map[string]int) {
	m.t.Helper()
	s := &tale{market: m, n: n, cents: map[id.ID]int64{}, letters: map[string]bool{}}
	s.begin()
	s.add(m.dice.IntN(len(m.people)))
	s.add(m.dice.IntN(len(m.people)))
	s.bill(int64(1000 + m.dice.IntN(15000)))

	for range 4 + m.dice.IntN(12) {
		step := []string{"add", "choose", "release", "days", "days", "address", "bill", "pay", "pay", "pay", "payout", "payout", "chargeback", "approve"}[m.dice.IntN(14)]
		who := m.dice.IntN(len(m.people))

		switch step {
		case "add":
			s.add(who)
		case "choose":
			s.choose(who)
		case "release":
			s.release(who)
		case "days":
			s.days(1 + m.dice.IntN(4))
		case "address":
			s.address(who)
		case "bill":
			s.bill(int64(1000 + m.dice.IntN(15000)))
		case "pay":
			s.pay(who, counted)
		case "payout":
			s.payout(who, counted)
		case "chargeback":
			s.chargeback()
		case "approve":
			s.approve(who, counted)
		}

		if m.t.Failed() {
			return
		}
	}

	s.end()
}

// begin gives the owner a house with a paid stay of January, another one to come, and a published statement.
func (s *tale) begin() {
	s.t.Helper()
	s.emails, s.replaced = []string{fmt.Sprintf("first%d@example.com", s.n)}, nil

	for i, kind := range []string{"owner", "vendor"} {
		s.contacts[i] = s.Post(at("/contacts"), object{"type": kind, "name": fmt.Sprintf("%s %d", kind, s.n), "email": s.emails[0]}).Want(201).ID("id")
	}

	s.reserve = int64(s.dice.IntN(2) * 5000)
	s.house = s.Post(at("/listings"), object{
		"name": fmt.Sprintf("House %d", s.n), "initialOwnership": object{"members": list{object{"contactId": s.contacts[0], "split": 100000}}, "reserve": s.reserve},
	}).Want(201).ID("id")
	s.period = s.Get("/listings/ownership-periods?listingIds=" + s.house.String()).Want(200).ID("data.0.id")

	now := day.Of(s.DB.Now())
	for _, in := range []day.Day{now.AddDays(-200), now.AddDays(20)} {
		cents := int64(10000 + s.dice.IntN(40000))
		stay := s.Post(at("/reservations"), object{
			"listingId": s.house, "checkIn": in, "checkOut": in.AddDays(2), "bookedAt": "2026-01-09", "lines": list{object{"type": "rent", "amount": cents}},
		}).Want(201).ID("id")
		s.deposit(stay, "2026-01-09", cents)

		if s.balance += cents; in.After(now) {
			s.kept = cents - cents*s.beforeStay/100
		}
	}

	s.Post(at("/statements"), object{"month": "2026-01", "status": "published", "listingPeriodIds": list{s.period}}).Want(201)
	s.statement = s.Get("/statements?month=2026-01&listingIds=" + s.house.String()).Want(200).ID("data.0.id")
	s.published = s.shown()
}

func (s *tale) deposit(stay id.ID, date string, cents int64) {
	s.t.Helper()
	s.Post(at("/transactions"), object{"type": "deposit", "date": date, "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}}}).Want(201)
}

// shown is what the published statement shows, without what says how far it has been paid.
func (s *tale) shown() string {
	s.t.Helper()

	var all map[string]any
	s.Get("/statements/" + s.statement.String()).Want(200).Into(&all)

	for _, live := range []string{"payment", "payouts", "issues", "journalStatus", "updatedAt"} {
		delete(all, live)
	}

	delete(all["financials"].(map[string]any), "collectedToday") //nolint:forcetypeassert // its shape

	for _, share := range all["shares"].([]any) { //nolint:forcetypeassert // its shape
		for _, live := range []string{"received", "offset", "open", "broughtForward"} {
			delete(share.(map[string]any), live) //nolint:forcetypeassert // its shape
		}
	}

	out, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}

	return string(out)
}

// some returns a random method of one of the contacts, nil for none.
func (s *tale) some() (contact int, p *place) {
	contact = s.dice.IntN(2)
	if len(s.places[contact]) == 0 {
		return contact, nil
	}

	return contact, s.places[contact][s.dice.IntN(len(s.places[contact]))]
}

func (s *tale) methods(contact int) string {
	return "/contacts/" + s.contacts[contact].String() + "/payment-methods"
}

// write notes that the contact has to be written to: at the present address, and at those of the last three days.
func (s *tale) write(contact int) {
	for i, address := range s.emails {
		if i == 0 || s.replaced[i-1] < s.holdDays {
			s.letters[fmt.Sprint(contact, " ", address)] = true
		}
	}
}

func (s *tale) add(who int) {
	s.t.Helper()

	contact := s.dice.IntN(2)
	if len(s.places[0]) == 0 || len(s.places[1]) == 0 {
		contact = len(s.places[0]) // the owner's first, then the vendor's
	}

	if len(s.places[contact]) == 3 {
		return
	}

	s.people[who].Post(s.methods(contact)+"/ach", bankAccount(fmt.Sprintf("%04d", len(s.places[contact])))).Want(202)
	s.work()
	s.write(contact)

	methods := s.Get(s.methods(contact) + "?sort=createdAt").Want(200)
	p := &place{id: methods.ID(fmt.Sprintf("data.%d.id", len(s.places[contact]))), author: who, isDefault: len(s.places[contact]) == 0}
	s.places[contact] = append(s.places[contact], p)
	s.settle()
	s.say("%d adds %d to %d", who, len(s.places[contact])-1, contact)

	for i, p := range s.places[contact] {
		if got := methods.String(fmt.Sprintf("data.%d.isDefault", i)); got != strconv.FormatBool(p.isDefault) {
			s.fail("method %d of %d: default %s", i, contact, got)
		}
	}
}

func (s *tale) choose(who int) {
	s.t.Helper()

	contact, p := s.some()
	if p == nil || p.isDefault {
		return
	}

	s.people[who].Put(at(s.methods(contact)+"/"+p.id.String()), object{"isDefault": true}).Want(200)
	s.write(contact)

	for _, o := range s.places[contact] {
		o.isDefault = o == p
	}

	p.age, p.author, p.releasers, p.paid = 0, who, nil, false
	s.say("%d makes %d the default of %d", who, slices.Index(s.places[contact], p), contact)
}

func (s *tale) release(who int) {
	s.t.Helper()

	contact, p := s.some()
	if p == nil {
		return
	}

	r := s.people[who].Post(at(s.methods(contact)+"/"+p.id.String()+"/release"), object{})
	if who == p.author {
		r.Want(403)
		return
	}

	r.Want(200)

	p.releasers = []int{who}
	s.say("%d frees %d of %d", who, slices.Index(s.places[contact], p), contact)
}

// days lets time pass.
func (s *tale) days(n int) {
	s.t.Helper()

	args := db.Args{"contacts": []id.ID{s.contacts[0], s.contacts[1]}, "n": n}
	for _, sql := range []string{
		`update payee_method set chosen_at = chosen_at - @n * interval '1 day', released_at = released_at - @n * interval '1 day' where team_id = @team and contact_id = any(@contacts)`,
		`update payment set created_at = created_at - @n * interval '1 day' where team_id = @team and contact_id = any(@contacts)`,
		`update contact_former_email set replaced_at = replaced_at - @n * interval '1 day' where team_id = @team and contact_id = any(@contacts)`,
	} {
		s.Exec(sql, args)
	}

	for _, of := range s.places {
		for _, p := range of {
			p.age += n
		}
	}

	for i := range s.replaced {
		s.replaced[i] += n
	}

	s.say("%d days pass", n)
}

func (s *tale) address(who int) {
	s.t.Helper()

	next := fmt.Sprintf("next%d.%d@example.com", s.n, len(s.emails))
	for _, c := range s.contacts {
		s.people[who].Put(at("/contacts/"+c.String()), object{"email": next}).Want(200)
	}

	s.emails, s.replaced = append([]string{next}, s.emails...), append([]int{0}, s.replaced...)
	s.say("%d changes the address", who)
}

func (s *tale) bill(cents int64) {
	s.t.Helper()

	bill := s.Post(at("/transactions"), object{
		"type": "expense", "date": "2026-02-10", "contactId": s.contacts[1],
		"lines": list{object{"accountId": s.Account("5200"), "amount": cents, "listingId": s.house}},
	}).Want(201).ID("id")
	s.bills, s.cents[bill] = append(s.bills, bill), cents
	s.balance, s.earnedAfter, s.open = s.balance-cents, s.earnedAfter-cents, s.open+cents
	s.say("a bill of %d", cents)
}

// free says whether a person may have a provider pay to a place, by the decision of 2026-11-27.
func (s *tale) free(p *place, who int) bool {
	second := slices.ContainsFunc(p.releasers, func(r int) bool { return r != who && r != p.author })

	return p.paid || second || s.guard == "hold" && p.age >= s.holdDays && who != p.author
}

// settle notes what has been sent: a place that was paid to is known.
func (s *tale) settle() {
	for _, of := range s.places {
		for _, p := range of {
			var n int64
			s.count(&n, fmt.Sprintf(`select count(*) from payment p join payee_method m on m.team_id = p.team_id and m.id = p.payee_method_id
				where p.team_id = @team and m.id = '%s' and p.status in ('submitted', 'paid') and p.created_at >= m.chosen_at`, p.id))
			p.paid = n > 0
		}
	}
}

func (s *tale) pay(who int, counted map[string]int) {
	s.t.Helper()

	if len(s.bills) == 0 || len(s.places[1]) == 0 {
		return
	}

	bill, p := s.bills[0], s.places[1][s.dice.IntN(len(s.places[1]))]
	cents, funded := s.cents[bill], s.cents[bill] <= s.balance+s.open

	r := s.people[who].Post("/transactions/"+bill.String()+"/pay", object{"connectionId": s.connection, "contactPaymentMethodId": p.id})
	s.say("%d pays a bill of %d to %d: %d %s", who, cents, slices.Index(s.places[1], p), r.Status, told(r))

	switch free := s.free(p, who); {
	case r.Status == 202 && !free:
		s.fail("a payment to a destination that is not free")
	case r.Status == 202 && !funded:
		s.fail("a bill of %d is paid, the owners have %d", cents, s.balance+s.open)
	case r.Status != 202 && free && funded:
		s.fail("refused: %s", r.Body)
	}

	counted["bill "+strconv.Itoa(r.Status)]++

	if r.Status != 202 {
		return
	}

	s.bills = s.bills[1:]
	if s.approvals > 0 && cents >= s.approvals {
		s.wait(bill, who, p)
		return
	}

	s.open -= cents
	s.work()
	s.settle()
}

// wait notes a payment that waits for approval.
func (s *tale) wait(transaction id.ID, who int, p *place) {
	s.t.Helper()
	approval := s.Get("/payments?transactionIds=" + transaction.String()).Want(200).ID("data.0.approvalId")
	s.waiting = append(s.waiting, &claim{approval: approval, by: who, to: p})
	s.cents[approval] = s.cents[transaction]
}

func (s *tale) payout(who int, counted map[string]int) {
	s.t.Helper()

	i := slices.IndexFunc(s.places[0], func(p *place) bool { return p.isDefault })
	if i < 0 {
		return
	}

	p, cents := s.places[0][i], int64(1000+s.dice.IntN(12000))
	available := s.balance - max(0, s.reserve-max(0, -s.earnedAfter))

	r := s.people[who].Post("/statements/pay", object{"statementIds": list{s.statement}, "connectionId": s.connection, "amounts": list{
		object{"statementId": s.statement, "contactId": s.contacts[0], "centTotal": cents},
	}})
	s.say("%d pays %d of %d to the owner: %d %s", who, cents, available-s.kept, r.Status, told(r))

	free, funded := s.free(p, who), cents <= available-s.kept
	switch {
	case r.Status == 202 && !free:
		s.fail("a payout to a destination that is not free")
	case r.Status == 202 && !funded:
		s.fail("a payout of %d, %d are free", cents, available-s.kept)
	case r.Status != 202 && free && funded && !strings.Contains(told(r), "alreadyPaid"):
		s.fail("refused: %s", r.Body)
	}

	counted["payout "+strconv.Itoa(r.Status)]++

	if r.Status != 202 {
		return
	}

	s.balance -= cents

	if s.approvals > 0 && cents >= s.approvals {
		transaction := s.Get("/transactions?sort=-createdAt&type=payout&listingIds=" + s.house.String()).Want(200).ID("data.0.id")
		s.cents[transaction] = 0 // booked
		s.wait(transaction, who, p)

		return
	}

	s.work()
	s.settle()
}

// chargeback takes back what a guest of January has paid.
func (s *tale) chargeback() {
	s.t.Helper()

	if s.dice.IntN(3) > 0 || s.beforeStay < 100 {
		return // a stay that is not paid keeps less
	}

	stay := s.Get("/reservations?listingIds=" + s.house.String()).Want(200).ID("data.0.id")
	s.deposit(stay, "2026-03-10", -1000)
	s.say("a chargeback")
}

func (s *tale) approve(who int, counted map[string]int) {
	s.t.Helper()

	if len(s.waiting) == 0 {
		return
	}

	c := s.waiting[0]
	r := s.people[who].Post("/approvals/"+c.approval.String()+"/approve", object{})
	s.say("%d approves what %d asked for: %d %s", who, c.by, r.Status, told(r))

	// Someone else than the author has a part in it, and the hold has passed or there is a second person.
	alone := !c.to.paid && c.to.author == who && !s.free(c.to, c.by)
	if r.Status == 200 && (who == c.by || alone) {
		s.fail("a person alone brought about a payment")
	}

	counted["approval "+strconv.Itoa(r.Status)]++

	if r.Status != 200 {
		return
	}

	s.waiting = s.waiting[1:]
	s.open -= s.cents[c.approval]
	s.work()
	s.settle()
}

// end compares what is left: the statement, and who was written to.
func (s *tale) end() {
	s.t.Helper()

	if now := s.shown(); now != s.published {
		s.fail("the published statement was\n%s\nand is\n%s", s.published, now)
	}

	s.work()

	got := map[string]bool{}

	for i, contact := range s.contacts {
		changes := s.Get("/payment-methods/changes?limit=100&contactIds=" + contact.String()).Want(200)
		for k := range changes.Len("data") {
			for l := range changes.Len(fmt.Sprintf("data.%d.letters", k)) {
				got[fmt.Sprint(i, " ", changes.String(fmt.Sprintf("data.%d.letters.%d.address", k, l)))] = true
			}
		}
	}

	if fmt.Sprint(got) != fmt.Sprint(s.letters) {
		s.fail("letters to %v, want %v", got, s.letters)
	}
}
