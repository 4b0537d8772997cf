// Package pms brings listings and reservations of property-management systems into the books: the apps that teams can
// be connected to, the sources that syncs read, and which listing here each listing of a system is.
//
// To add a system, write its client below provider/pms and add a literal to known. No other code asks for the name of a
// system.
//
// The page docs/decisions/pms.md says what the contract leaves open and how it is answered here.
package pms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/platform/seal"
	"stayledger/provider/pms"
)

// Options are those of the clients of all systems.
type Options struct {
	// AllowPrivate lets clients call private addresses: the operator's choice and never a team's.
	AllowPrivate bool
	// PublicURL is our own address, at which systems send messages.
	PublicURL string
	// Within shortens the time that a call may take, 0 does not.
	Within time.Duration
	// Budgets are the limits of calls in place of those of each system, nil for these.
	Budgets []*outbound.Budget
}

// Registration is how a system knows us.
type Registration struct {
	ID, Secret string
	// Address is where the system is, such as a sandbox; empty for the system itself.
	Address string
}

// app is a property-management system.
type app struct {
	connection.App

	// open makes a client. It fails with a connection.FieldError for settings that the client does not take.
	// The registration is nil if there is none.
	open func(a connection.Access, o Options, tokens pms.Tokens, registered pms.Grants) (pms.Client, error)
	// pays says that its client is a pms.Payer.
	pays bool
	// register makes our registration at the system; nil for a system where account holders cannot give access.
	register func(r Registration, o Options) (pms.Grants, error)
	// message reads a message of the system that is signed with a secret; nil for a system that sends none.
	message func(secret string, h http.Header, body []byte, now time.Time) (*pms.Event, error)
	// appMessage reads a message that comes for all accounts that have given access to us, with a name and a password that the operator has
	// set at the system; nil for a system without such messages.
	appMessage func(name, password string, h http.Header, body []byte) (*pms.Event, error)
}

// find returns a system, nil for an app that is none.
func find(a connection.AppID) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.ID == a })
	if i < 0 {
		return nil
	}

	return &known[i]
}

// errNoSystem refuses to read records over a connection to an app that has none.
var errNoSystem = errors.New("the app of the connection gives no records")

// Systems opens the clients of connections.
type Systems struct {
	box        *seal.Box
	options    Options
	registered map[connection.AppID]pms.Grants
	// messages are the names and passwords of messages that come for all accounts of an app.
	messages map[connection.AppID]login
}

// New returns the systems, with credentials that the box has sealed.
func New(box *seal.Box, o Options) *Systems {
	return &Systems{box: box, options: o, registered: map[connection.AppID]pms.Grants{}, messages: map[connection.AppID]login{}}
}

// Register lets account holders at a system give access to us. It fails for a system where they cannot, and for a
// registration that cannot be used.
func (s *Systems) Register(name connection.AppID, r Registration) error {
	k := find(name)
	if k == nil || k.register == nil {
		return fmt.Errorf("account holders at %s cannot give access", name)
	}

	grants, err := k.register(r, s.options)
	if err != nil {
		return fmt.Errorf("registration at %s: %w", name, err)
	}

	s.registered[name] = grants

	return nil
}

// open opens the client of a connection, with what keeps its token.
func (s *Systems) open(c *connection.Connection, tokens pms.Tokens) (pms.Client, error) {
	k := find(c.AppID)
	if k == nil {
		return nil, errNoSystem
	}

	access, err := k.Access(s.box, c)
	if err != nil {
		return nil, err
	}

	return k.open(access, s.options, tokens, s.registered[k.ID])
}

// Apps returns the apps for connections.
func (s *Systems) Apps() connection.Apps {
	out := make(connection.Apps, len(known))

	for i := range known {
		k := &known[i]
		out[i] = k.App
		out[i].Form = func(a connection.Access) error {
			_, err := k.open(a, s.options, &pms.MemoryTokens{}, s.registered[k.ID])
			return err
		}
		out[i].OAuth = s.oauth(k.ID)
		out[i].Kinds = kinds(k.pays)
		out[i].Extractors = infos()
		out[i].Check = s.check
		out[i].Connected = s.readListings
		out[i].Leave = s.leave
	}

	return out
}

// check asks the system of a connection whose account the credentials open.
func (s *Systems) check(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) (*connection.Account, error) {
	client, err := s.open(c, s.tokens(d, scope, c))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	account, err := client.Account(ctx)
	if err != nil {
		return nil, checkError(err)
	}

	return &connection.Account{ID: account.ID, Name: account.Name}, nil
}

// readListings reads all listings of a system, so that it can be said which listings here they are before the first
// sync. Before that it has the system send messages, so that nothing is missed.
func (s *Systems) readListings(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) (db.Work, error) {
	client, err := s.open(c, s.tokens(d, scope, c))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	// Messages only say sooner what a sync finds anyway: a system that takes no subscription, or not with these
	// credentials, is read all the same.
	if hooks, ok := client.(pms.Hooks); ok {
		err := hooks.Subscribe(ctx, s.options.PublicURL+messagePath+c.ID.String(), s.secrets(c.ID)[0])
		if err != nil && !errors.Is(err, pms.ErrRefused) && !errors.Is(err, pms.ErrCredentials) {
			return nil, checkError(err)
		}
	}

	var changes []*intake.Change

	from := &source{client: client, app: string(c.AppID)}
	for page, more := "", true; more; more = page != "" {
		got, err := from.pullListings(ctx, page)
		if err != nil {
			return nil, checkError(err)
		}

		for i := range got.Changes {
			changes = append(changes, &got.Changes[i])
		}

		page = got.Next
	}

	return func(ctx context.Context, tx *db.Tx) error {
		if err := find(c.AppID).adopt(ctx, tx, c.ID); err != nil {
			return err
		}

		return see(ctx, tx, intake.Origin{ConnectionID: &c.ID}, keepLast(changes))
	}, nil
}

// leave ends what an archived connection was for: stays that other systems have as well become theirs, and its system
// sends no more messages.
func (s *Systems) leave(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) error {
	if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return reunite(ctx, tx, c.ID) }); err != nil {
		return fmt.Errorf("give the stays of a connection to other systems: %w", err)
	}

	return s.unsubscribe(ctx, d, scope, c)
}

// unsubscribe has a system send no more messages for a connection.
func (s *Systems) unsubscribe(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) error {
	client, err := s.open(c, s.tokens(d, scope, c))
	if err != nil {
		return fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	hooks, is := client.(pms.Hooks)
	if !is {
		return nil
	}

	if err := hooks.Unsubscribe(ctx); err != nil {
		return checkError(err)
	}

	return nil
}

// keepLast returns each record of changes once, as it came last: pages can overlap.
func keepLast(changes []*intake.Change) []*intake.Change {
	out, at := []*intake.Change{}, map[string]int{}

	for _, c := range changes {
		if i, twice := at[c.ExternalID]; twice {
			out[i] = c
			continue
		}

		at[c.ExternalID] = len(out)
		out = append(out, c)
	}

	return out
}

// checkError returns the error of a call as connections see it.
func checkError(err error) error {
	switch {
	case errors.Is(err, pms.ErrCredentials):
		return fmt.Errorf("%w: %w", connection.ErrCredentials, err)
	case errors.Is(err, pms.ErrRefused):
		return fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	case errors.Is(err, pms.ErrTimeout):
		return fmt.Errorf("%w: %w", connection.ErrTimeout, err)
	}

	return fmt.Errorf("ask a property-management system: %w", err)
}

// tokens returns what keeps the token of a connection: the database, for credentials that have worked.
func (s *Systems) tokens(d *db.DB, scope db.Scope, c *connection.Connection) pms.Tokens {
	if c.ConnectedAt == nil {
		return &pms.MemoryTokens{}
	}

	return newTokens(d, scope, s.box, c)
}

// Can reports whether an app is a system that can do something.
func Can(a connection.AppID, c connection.Capability) bool {
	k := find(a)

	return k != nil && slices.Contains(k.Capabilities, c)
}

// Runs reports whether an app is a system for whose connections a flow can be run.
func Runs(a connection.AppID, flow connection.FlowID) bool {
	k := find(a)

	return k != nil && slices.Contains(k.Flows, flow)
}

// Calendar opens the calendar behind a connection. It fails with intake.ErrRefused for a connection over which nothing can
// be sent now, and for a system without a calendar.
func (s *Systems) Calendar(ctx context.Context, d *db.DB, scope db.Scope, connectionID id.ID) (pms.Blocker, error) {
	_, client, err := s.openActive(ctx, d, scope, connectionID)
	if err != nil {
		return nil, err
	}

	blocker, is := client.(pms.Blocker)
	if !is {
		return nil, fmt.Errorf("%w: the system has no calendar", intake.ErrRefused)
	}

	return blocker, nil
}

// Open opens the source behind a connection. It is an intake.Open.
func (s *Systems) Open(ctx context.Context, d *db.DB, scope db.Scope, connectionID id.ID) (intake.Source, error) {
	c, client, err := s.openActive(ctx, d, scope, connectionID)
	if err != nil {
		return nil, err
	}

	held, err := readZones(ctx, d, scope, connectionID)
	if err != nil {
		return nil, err
	}

	return &source{client: client, app: string(c.AppID), zones: held, onDifference: readOnDifference(c.Settings)}, nil
}

// openActive opens the client of an active connection. It fails with intake.ErrRefused for one that cannot be read.
func (s *Systems) openActive(ctx context.Context, d *db.DB, scope db.Scope, connectionID id.ID) (*connection.Connection, pms.Client, error) {
	var c *connection.Connection

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = connection.Get(ctx, tx, connectionID)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the connection of a source: %w", err)
	}

	// Nothing is read over a connection that was switched off or has to be connected again.
	if c.Status != connection.Active {
		return nil, nil, intake.ErrRefused
	}

	client, err := s.open(c, newTokens(d, scope, s.box, c))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", intake.ErrRefused, err)
	}

	return c, client, nil
}
