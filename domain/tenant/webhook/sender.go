package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/fair"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/platform/seal"
)

// poll is how often the sender looks for notes and due messages.
const poll = 250 * time.Millisecond

// lease is how long a sender keeps the messages that it has claimed; startTime is how long it begins to send them.
const (
	lease     = 45 * time.Second
	startTime = lease - answerTime - 5*time.Second
)

// turn is how long a receiver is called before others have their turn.
const turn = 5 * time.Second

// together is how many messages are claimed at once, and side how many are sent side by side to one receiver.
const together, side = 64, 4

// places is how many receivers are called at the same time, those that do well and the sick ones each.
const places = 40

// receiver is the receiver of an active webhook with messages that are due.
type receiver struct {
	TeamID, ID   id.ID
	URL          string
	Secret       []byte
	FormerSecret []byte
	health

	secrets []string
}

const receiverColumns = `w.team_id, w.id, w.url, w.secret, case when w.former_until > clock_timestamp() then w.former_secret end as former_secret,
	w.failing_since, w.failures::bigint, w.is_slow, w.paused_until`

// openSecrets opens the secrets that messages are signed with.
func (r *receiver) openSecrets(box *seal.Box) error {
	for _, sealed := range [][]byte{r.Secret, r.FormerSecret} {
		if sealed == nil {
			continue
		}

		secret, err := box.Open(sealed, label(r.ID))
		if err != nil {
			return fmt.Errorf("secret of a webhook: %w", err)
		}

		r.secrets = append(r.secrets, string(secret))
	}

	return nil
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
		if err := s.runOnce(ctx, working); err != nil && ctx.Err() == nil {
			log.Warn("webhooks", "error", err)
		}

		select {
		case <-ctx.Done():
		case <-s.freed:
		case <-time.After(poll):
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
// failed.
func (s *sender) callReceiver(ctx, working context.Context, r *receiver) error {
	if err := r.openSecrets(s.Box); err != nil {
		return err
	}

	sick := r.isSick()

	began := time.Now() //nolint:forbidigo // how long it takes
	for ctx.Err() == nil && time.Since(began) < turn {
		claimed, err := s.claimDue(ctx, r)
		if err != nil || len(claimed) == 0 {
			return err
		}

		outcomes, rest := s.sendAll(working, r, claimed)

		if err := s.saveResults(working, r, outcomes, rest); err != nil {
			return err
		}

		// A sick receiver had its one message; a receiver that has just failed continues in the other places.
		if sick || r.isSick() {
			return nil
		}
	}

	return nil
}

// claimed is a message that this sender has claimed.
type claimed struct {
	ID       id.ID
	EventID  id.ID
	Payload  string
	Attempts int64
}

// scope returns the scope of work on the messages of a receiver. It relies on nothing that the gate keeps.
func (r *receiver) scope() db.Scope {
	return db.Scope{Team: r.TeamID, Actor: db.Service, Work: sendKind.String(), Ungated: true}
}

// claimDue claims messages of a receiver that are due, one of a sick one.
func (s *sender) claimDue(ctx context.Context, r *receiver) (out []claimed, err error) {
	// A sick receiver gets one message at a time.
	most := together
	if r.isSick() {
		most = 1
	}

	err = s.db.Write(ctx, r.scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[claimed](ctx, tx, `
			with due as (
				select team_id, id from webhook_delivery
				where team_id = @team and webhook_id = @webhook and due_at <= clock_timestamp() order by due_at limit @most for update skip locked)
			update webhook_delivery d set status = 'delivering', attempts = d.attempts + 1, due_at = clock_timestamp() + @lease::interval
			from due where d.team_id = due.team_id and d.id = due.id
			returning d.id, d.event_id, d.payload, d.attempts::bigint`,
			db.Args{"team": tx.Team, "webhook": r.ID, "most": most, "lease": lease})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim messages: %w", err)
	}

	return out, nil
}

// sendAll sends messages, some side by side, and returns the outcomes and the messages that were not sent. It stops
// after a failure or a slow answer.
func (s *sender) sendAll(ctx context.Context, r *receiver, messages []claimed) (outcomes []outcome, rest []id.ID) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		next  int
		ended bool
	)

	began := time.Now() //nolint:forbidigo // how long it takes

	// take returns the next message to send, nil for none.
	take := func() *claimed {
		mu.Lock()
		defer mu.Unlock()

		if ended || next == len(messages) || time.Since(began) > startTime {
			return nil
		}

		next++

		return &messages[next-1]
	}

	for range min(side, len(messages)) {
		group.Go(func() {
			for c := take(); c != nil; c = take() {
				m := message{url: r.URL, secrets: r.secrets, eventID: c.EventID, payload: c.Payload}
				at := s.db.Now()
				a, err := m.send(ctx, s.client, s.Within, at)

				mu.Lock()
				if err != nil {
					rest, ended = append(rest, c.ID), true
				} else {
					outcomes = append(outcomes, outcome{c.ID, c.Attempts, a, at})
					ended = ended || a.failure != "" || a.took >= slowTime
				}
				mu.Unlock()
			}
		})
	}

	group.Wait()

	// What was never begun is given back too.
	for i := next; i < len(messages); i++ {
		rest = append(rest, messages[i].ID)
	}

	return outcomes, rest
}

// saveResults saves outcomes, and makes the messages that were not sent due again.
func (s *sender) saveResults(ctx context.Context, r *receiver, outcomes []outcome, rest []id.ID) error {
	return s.db.Write(ctx, r.scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := r.save(ctx, tx, outcomes); err != nil || len(rest) == 0 {
			return err
		}

		_, err := tx.Exec(ctx, `
			update webhook_delivery set attempts = attempts - 1, due_at = clock_timestamp(),
				status = case when attempts = 1 then 'pending' else 'failed' end
			where team_id = @team and id = any(@rest) and status = 'delivering'`, db.Args{"team": tx.Team, "rest": rest})
		if err != nil {
			return fmt.Errorf("give messages back: %w", err)
		}

		return nil
	})
}
