package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/fair"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// poll is how often the sender looks for notes and due messages, and errorPoll how often while the database fails.
const (
	poll      = 250 * time.Millisecond
	errorPoll = 5 * time.Second
)

// lease is how long a sender has the messages of a receiver for itself. It is longer than a turn and the last answers.
const lease = 45 * time.Second

// turn is how long requests to a receiver are begun before others have their turn. It bounds how long a webhook that is
// deleted meanwhile gets messages that were loaded before.
const turn = 5 * time.Second

// pace is how many messages are loaded at once, and how many of them are sent side by side to one receiver.
type pace struct{ together, side int }

// The paces of receivers that do well, that are slow, and that fail. A slow receiver gets more side by side, since its
// answers are waited for and not its work; its messages would wait for one another otherwise.
var (
	wellPace    = pace{256, 4}
	slowPace    = pace{16, 16}
	failingPace = pace{1, 1}
)

// pace returns the pace of the receiver.
func (h *health) pace() pace {
	switch {
	case h.Failures > 0:
		return failingPace
	case h.IsSlow:
		return slowPace
	default:
		return wellPace
	}
}

// places is how many receivers are called at the same time, those that do well and the sick ones each.
const places = 40

// receiver is the receiver of an active webhook with messages that are due.
type receiver struct {
	TeamID, ID    id.ID
	URL           string
	Secret        []byte
	FormerSecrets []byte
	health

	secrets []string
}

const receiverColumns = `w.team_id, w.id, w.url, w.secret, w.former_secrets,
	w.failing_since, w.failures::bigint, w.is_slow, w.paused_until`

// openSecrets opens the secrets that messages are signed with.
func (r *receiver) openSecrets(c Config, now time.Time) error {
	secret, err := c.Box.Open(r.Secret, label(r.ID))
	if err != nil {
		return fmt.Errorf("secret of a webhook: %w", err)
	}

	former, err := c.openFormer(r.ID, r.FormerSecrets, now)
	r.secrets = append(r.secrets, string(secret))

	for _, f := range former {
		r.secrets = append(r.secrets, f.Secret)
	}

	return err
}

// sender makes and sends messages in one process.
type sender struct {
	Config

	db     *db.DB
	log    *slog.Logger
	client *http.Client
	// freed wakes the sender when a turn of a receiver ends.
	freed chan struct{}
	calls sync.WaitGroup

	mu   sync.Mutex
	busy map[id.ID]*receiver
}

// Send makes and sends messages until the context ends, then waits up to grace for the answers to those in hand.
// Senders of any number of processes share one database.
func (c Config) Send(ctx context.Context, d *db.DB, log *slog.Logger, grace time.Duration) {
	s := &sender{
		Config: c, db: d, log: log, client: outbound.Client(c.Private), freed: make(chan struct{}, 1),
		busy: map[id.ID]*receiver{},
	}

	// Requests in hand go on for the grace after the context has ended.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	for ctx.Err() == nil {
		pause := poll

		if err := s.runOnce(ctx, working); err != nil && ctx.Err() == nil {
			pause = errorPoll

			log.Warn("webhooks", "error", err)
		}

		select {
		case <-ctx.Done():
		case <-s.freed:
		case <-time.After(pause):
		}
	}

	defer time.AfterFunc(grace, stop).Stop()

	s.calls.Wait()
}

// runOnce turns notes into messages, and starts a turn for receivers with due messages. Turns go on in the context
// working.
func (s *sender) runOnce(ctx, working context.Context) error {
	if err := fanOut(ctx, s.db, s.Only); err != nil {
		return err
	}

	due, err := s.loadDue(ctx)
	if err != nil {
		return err
	}

	for i := range due {
		if r := &due[i]; s.reservePlace(r) {
			s.calls.Go(func() {
				defer s.releasePlace(r)

				if err := s.callReceiver(ctx, working, r); err != nil && ctx.Err() == nil {
					s.log.Warn("call the receiver of a webhook", "webhook", r.ID, "error", err)
				}
			})
		}
	}

	return nil
}

// loadDue loads the receivers with messages that are due and that this sender does not call, in no order.
func (s *sender) loadDue(ctx context.Context) (due []receiver, err error) {
	s.mu.Lock()

	busy := make([]id.ID, 0, len(s.busy))
	for webhook := range s.busy {
		busy = append(busy, webhook)
	}
	s.mu.Unlock()

	err = s.db.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		due, err = db.Select[receiver](ctx, tx, `
			select `+receiverColumns+` from webhook w join team t on t.id = w.team_id and t.freeze_reason is null
			where w.status = 'active' and (w.paused_until is null or w.paused_until <= clock_timestamp()) and w.id <> all(@busy)
				and (w.leased_until is null or w.leased_until <= clock_timestamp())
				and (@only::uuid[] is null or w.team_id = any(@only))
				and exists (select from webhook_delivery d where d.team_id = w.team_id and d.webhook_id = w.id and d.due_at <= clock_timestamp())
			order by random() limit 200`, db.Args{"busy": busy, "only": s.Only})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find messages to send: %w", err)
	}

	return due, nil
}

// reservePlace takes a place for a receiver, if there is one left for its team. Sick receivers have places of their
// own.
func (s *sender) reservePlace(r *receiver) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	// Count the places of the same kind, and those of the team among them.
	free, held := places, 0

	for _, other := range s.busy {
		if other.isSick() == r.isSick() {
			free--

			if other.TeamID == r.TeamID {
				held++
			}
		}
	}

	if fair.More(held, free) == 0 {
		return false
	}

	// The copy keeps the health that decided about the place.
	seated := *r
	s.busy[r.ID] = &seated

	return true
}

// releasePlace gives the place of a receiver back.
func (s *sender) releasePlace(r *receiver) {
	s.mu.Lock()
	delete(s.busy, r.ID)
	s.mu.Unlock()

	// A full channel has woken the sender already.
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// callReceiver sends the messages of a receiver that are due until its turn is over, it has had all, or one attempt has
// failed. For that time it has a lease of them.
func (s *sender) callReceiver(ctx, working context.Context, r *receiver) error {
	if err := r.openSecrets(s.Config, s.db.Now()); err != nil {
		return err
	}

	isLeased, err := s.takeLease(ctx, r)
	if err != nil || !isLeased {
		return err
	}

	err = s.sendDue(ctx, working, r)

	return errors.Join(err, s.releaseLease(working, r))
}

// sendDue sends the messages of a receiver that are due, until the turn is over. The outcomes of some messages are saved
// while the next ones are sent.
func (s *sender) sendDue(ctx, working context.Context, r *receiver) error {
	pace := r.pace()

	saved := make(chan error, 1)
	saved <- nil

	began := time.Now() //nolint:forbidigo // how long it takes
	last, isOver := new(due), false

	for !isOver {
		found, err := s.loadMessages(working, r, last, pace.together)
		if err != nil || len(found) == 0 {
			return errors.Join(err, <-saved)
		}

		outcomes, isWell := s.sendAll(working, r, found, pace.side)

		// First the outcomes before: they belong to the same receiver.
		if err := <-saved; err != nil {
			return err
		}

		go func() { saved <- s.saveOutcomes(working, r, outcomes) }()

		last = &found[len(found)-1]
		isOver = !isWell || len(found) < wellPace.together || ctx.Err() != nil || time.Since(began) > turn
	}

	return <-saved
}

// due is a message that is to be sent.
type due struct {
	ID       id.ID
	EventID  id.ID
	Payload  string
	Attempts int64
	DueAt    time.Time
}

// scope returns the scope of work on the messages of a receiver. It relies on nothing that the gate keeps, and the outcome
// of a message that was sent is kept in a frozen team too.
func (r *receiver) scope() db.Scope {
	return db.Scope{Team: r.TeamID, Actor: db.Service, Work: sendKind.String(), Ungated: true, Frozen: true}
}

// takeLease takes the lease of the messages of a receiver, and reports whether it was free. A lease does not wait for the
// disk: if a crash loses it, two senders may send the same messages.
func (s *sender) takeLease(ctx context.Context, r *receiver) (isLeased bool, err error) {
	err = s.db.WriteLazily(ctx, r.scope(), func(ctx context.Context, tx *db.Tx) error {
		n, err := tx.Exec(ctx, `
			update webhook set leased_until = clock_timestamp() + @lease::interval
			where team_id = @team and id = @webhook and (leased_until is null or leased_until <= clock_timestamp())`,
			db.Args{"team": tx.Team, "webhook": r.ID, "lease": lease})
		isLeased = n > 0

		return err
	})
	if err != nil {
		return false, fmt.Errorf("take the lease of a webhook: %w", err)
	}

	return isLeased, nil
}

// loadMessages loads messages of a receiver that are due, after the last one in the order in which they are due. The
// number is in the text of the statement: PostgreSQL takes a parameter for a tenth of the table.
func (s *sender) loadMessages(ctx context.Context, r *receiver, last *due, most int) (found []due, err error) {
	err = s.db.Read(ctx, r.scope(), db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[due](ctx, tx, `
			select d.id, d.event_id, d.payload, d.attempts::bigint, d.due_at from webhook_delivery d
			where d.team_id = @team and d.webhook_id = @webhook and d.due_at <= clock_timestamp() and (d.due_at, d.id) > (@at, @last)
			order by d.due_at, d.id limit `+strconv.Itoa(most),
			db.Args{"team": tx.Team, "webhook": r.ID, "at": last.DueAt, "last": last.ID})

		return err
	}))
	if err != nil {
		return nil, fmt.Errorf("load messages: %w", err)
	}

	return found, nil
}

// sendAll sends messages, some side by side, and returns the outcomes, and whether all were taken and none slowly. It
// stops otherwise: the messages that were not sent stay due.
func (s *sender) sendAll(ctx context.Context, r *receiver, messages []due, side int) (outcomes []outcome, isWell bool) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		next  int
		ended bool
	)

	began := time.Now() //nolint:forbidigo // how long it takes

	// take returns the next message to send, nil for none.
	take := func() *due {
		mu.Lock()
		defer mu.Unlock()

		if ended || next == len(messages) || time.Since(began) > turn {
			return nil
		}

		next++

		return &messages[next-1]
	}

	for range min(side, len(messages)) {
		group.Go(func() {
			for d := take(); d != nil; d = take() {
				m := message{url: r.URL, secrets: r.secrets, eventID: d.EventID, payload: d.Payload}
				at := s.db.Now()
				a, err := m.send(ctx, s.client, s.Within, at)

				// Without an answer nothing is known: the process is being stopped.
				mu.Lock()
				if err != nil {
					ended = true
				} else {
					outcomes = append(outcomes, outcome{d.ID, d.Attempts + 1, a, at})
					ended = ended || a.failure != "" || a.took >= slowTime
				}
				mu.Unlock()
			}
		})
	}

	group.Wait()

	return outcomes, len(outcomes) == len(messages) && !ended
}

// saveOutcomes saves outcomes and extends the lease. It does not wait for the disk: if a crash loses outcomes, the
// messages are sent again.
func (s *sender) saveOutcomes(ctx context.Context, r *receiver, outcomes []outcome) error {
	if len(outcomes) == 0 {
		return nil
	}

	return s.db.WriteLazily(ctx, r.scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := r.save(ctx, tx, outcomes); err != nil {
			return err
		}

		return setLease(ctx, tx, r.ID, new(lease))
	})
}

// releaseLease gives the lease of a receiver back.
func (s *sender) releaseLease(ctx context.Context, r *receiver) error {
	return s.db.WriteLazily(ctx, r.scope(), func(ctx context.Context, tx *db.Tx) error {
		return setLease(ctx, tx, r.ID, nil)
	})
}

// setLease sets for how long from now the messages of a webhook are leased; nil is not at all.
func setLease(ctx context.Context, tx *db.Tx, webhook id.ID, from *time.Duration) error {
	_, err := tx.Exec(ctx, `update webhook set leased_until = clock_timestamp() + @lease::interval where team_id = @team and id = @webhook`,
		db.Args{"team": tx.Team, "webhook": webhook, "lease": from})
	if err != nil {
		return fmt.Errorf("set the lease of a webhook: %w", err)
	}

	return nil
}
