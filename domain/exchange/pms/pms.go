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
	"stayledger/platform/budget"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
	"stayledger/platform/seal"
	"stayledger/provider/pms"
)

// Options are for the clients of all systems.
type Options struct {
	// AllowPrivate lets clients call private addresses: only the operator may choose so, never a team.
	AllowPrivate bool
	// PublicURL is our own address; systems send messages to it.
	PublicURL string
	// Within shortens the time that a call may take; 0 does not.
	Within time.Duration
	// UncountedCalls leaves the limits of systems out.
	UncountedCalls bool
	// take counts the calls of the team that a client is opened for; nil counts none.
	take pms.Take
}

// Registration is our registration at a system.
type Registration struct {
	ID, Secret string
	// Address is the address of the system, such as a sandbox; empty for the usual one.
	Address string
}

// app is a property-management system.
type app struct {
	connection.App

	// open makes a client. It fails with a connection.FieldError for settings that the client rejects. The
	// registration is nil if there is none.
	open func(a connection.Access, o Options, tokens pms.Tokens, registered pms.Grants) (pms.Client, error)
	// pays says that the client is a pms.Payer.
	pays bool
	// register returns our registration at the system; nil if account holders there cannot give access.
	register func(r Registration, o Options) (pms.Grants, error)
	// message reads a message signed with a secret; nil if the system sends none.
	message func(secret string, h http.Header, body []byte, now time.Time) (*pms.Event, error)
	// appMessage reads a message for all accounts that have given us access, sent with a name and password that the
	// operator has set at the system; nil if the system sends none.
	appMessage func(name, password string, h http.Header, body []byte) (*pms.Event, error)
}

// find returns the system of an app, or nil.
func find(a connection.AppID) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.ID == a })
	if i < 0 {
		return nil
	}

	return &known[i]
}

// MostRecords is how much of one kind a sync reads of a system, except listings.
var MostRecords = pms.MostRecords

// most returns how much is read of a kind.
func most(kind string) outbound.Reading {
	if kind == listingKind {
		return pms.MostListings
	}

	return MostRecords
}

// pageWork is what a page counts as work, so that a long reading rests after each: other teams find the processors and
// the database free. Systems take far longer for a page.
const pageWork = 3 * time.Millisecond

// errNoSystem refuses to read records over a connection to an app without records.
var errNoSystem = errors.New("the app of the connection gives no records")

// Systems opens the clients of connections.
type Systems struct {
	box        *seal.Box
	options    Options
	registered map[connection.AppID]pms.Grants
	// messages are the logins for messages that come for all accounts of an app.
	messages map[connection.AppID]login
	budgets  *budget.Budgets
}

// New returns the systems. The box opens their credentials.
func New(box *seal.Box, o Options) *Systems {
	return &Systems{
		box: box, options: o, registered: map[connection.AppID]pms.Grants{}, messages: map[connection.AppID]login{},
		budgets: budget.New(),
	}
}

// Register lets account holders at a system give us access. It fails if the system does not support that, and for an
// unusable registration.
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

// open opens the client of a connection, with calls that count for the team; tokens keeps its token.
func (s *Systems) open(d *db.DB, scope db.Scope, c *connection.Connection, tokens pms.Tokens) (pms.Client, error) {
	k := find(c.AppID)
	if k == nil {
		return nil, errNoSystem
	}

	access, err := k.Access(s.box, c)
	if err != nil {
		return nil, err
	}

	o := s.options
	if !o.UncountedCalls {
		o.take = func(ctx context.Context, host string, l outbound.Limit) error {
			return s.budgets.Take(ctx, d, scope.Team, host, l)
		}
	}

	return k.open(access, o, tokens, s.registered[k.ID])
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

// check calls the system of a connection and returns the account that its credentials open.
func (s *Systems) check(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	c *connection.Connection,
) (*connection.Account, error) {
	client, err := s.open(d, scope, c, s.tokens(d, scope, c))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	account, err := client.Account(ctx)
	if err != nil {
		return nil, checkError(err)
	}

	return &connection.Account{ID: account.ID, Name: account.Name}, nil
}

// readListings reads all listings of a system, so that people can bind them before the first sync. It subscribes to
// messages first, so that no change is missed. Each page is saved before the next one is asked for, while the connection
// keeps its status.
func (s *Systems) readListings(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	c *connection.Connection,
) (db.Work, error) {
	client, err := s.open(d, scope, c, s.tokens(d, scope, c))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	// Messages only make syncs earlier, so a system that refuses the subscription is read all the same.
	if hooks, ok := client.(pms.Hooks); ok {
		err := hooks.Subscribe(ctx, s.options.PublicURL+messagePath+c.ID.String(), s.secrets(c.ID)[0])
		if err != nil && !errors.Is(err, pms.ErrRefused) && !errors.Is(err, pms.ErrCredentials) {
			return nil, checkError(err)
		}
	}

	seen, left := []string{}, most(listingKind)
	from := &source{client: client, app: string(c.AppID)}

	for page, more := "", true; more; {
		got, err := from.pullListings(ctx, page)
		if waitShortly(ctx, err) {
			continue
		}

		if err != nil {
			return nil, checkError(err)
		}

		if err := left.Take(len(got.Changes)); err != nil {
			return nil, fmt.Errorf("%w: %w", connection.ErrUnusable, err)
		}

		changes := keepLast(got.Changes)
		for _, change := range changes {
			seen = append(seen, change.ExternalID)
		}

		err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			if err := connection.HoldStatus(ctx, tx, c.ID, c.Status); err != nil {
				return err
			}

			return saveSeen(ctx, tx, intake.Origin{ConnectionID: &c.ID}, changes)
		})
		if err != nil {
			return nil, fmt.Errorf("save the listings of a system: %w", err)
		}

		if err := job.Rest(ctx, pageWork); err != nil {
			return nil, fmt.Errorf("read the listings of a system: %w", err)
		}

		page, more = got.Next, got.Next != ""
	}

	// An account that was connected before brings its bindings along.
	return func(ctx context.Context, tx *db.Tx) error {
		if err := find(c.AppID).adopt(ctx, tx, c.ID); err != nil {
			return err
		}

		return deleteUnseen(ctx, tx, c.ID, seen)
	}, nil
}

// leave ends an archived connection: stays that other systems have as well follow them from now on, and its system
// sends no more messages.
func (s *Systems) leave(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) error {
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return reunite(ctx, tx, c.ID) })
	if err != nil {
		return fmt.Errorf("give the stays of a connection to other systems: %w", err)
	}

	return s.unsubscribe(ctx, d, scope, c)
}

// unsubscribe stops the messages of a system for a connection.
func (s *Systems) unsubscribe(ctx context.Context, d *db.DB, scope db.Scope, c *connection.Connection) error {
	client, err := s.open(d, scope, c, s.tokens(d, scope, c))
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

// keepLast returns the last change of each record of a page.
func keepLast(changes []intake.Change) []*intake.Change {
	out, at := []*intake.Change{}, map[string]int{}

	for i := range changes {
		c := &changes[i]

		if i, twice := at[c.ExternalID]; twice {
			out[i] = c
			continue
		}

		at[c.ExternalID] = len(out)
		out = append(out, c)
	}

	return out
}

// checkError converts the error of a call to the error that connections show.
func checkError(err error) error {
	switch {
	case errors.Is(err, pms.ErrCredentials):
		return fmt.Errorf("%w: %w", connection.ErrCredentials, err)
	case errors.Is(err, pms.ErrRefused):
		return fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	case errors.Is(err, pms.ErrTimeout):
		return fmt.Errorf("%w: %w", connection.ErrTimeout, err)
	case errors.Is(err, pms.ErrAnswer):
		return fmt.Errorf("%w: %w", connection.ErrProtocol, err)
	}

	// What is no answer of the system is a failure of ours.
	if _, is := errors.AsType[*pms.Error](err); is {
		return fmt.Errorf("%w: %w", connection.ErrUnavailable, err)
	}

	return fmt.Errorf("ask a property-management system: %w", err)
}

// tokens returns the store for the token of a connection: the database once its credentials have worked, else memory.
func (s *Systems) tokens(d *db.DB, scope db.Scope, c *connection.Connection) pms.Tokens {
	if c.ConnectedAt == nil {
		return &pms.MemoryTokens{}
	}

	return newTokens(d, scope, s.box, c)
}

// Can reports whether an app is a system with a capability.
func Can(a connection.AppID, c connection.Capability) bool {
	k := find(a)

	return k != nil && slices.Contains(k.Capabilities, c)
}

// Runs reports whether an app is a system with a flow.
func Runs(a connection.AppID, flow connection.FlowID) bool {
	k := find(a)

	return k != nil && slices.Contains(k.Flows, flow)
}

// Calendar opens the calendar of a connection. It fails with intake.ErrRefused if the connection is not active, and
// for a system without a calendar.
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

// Open opens the source of a connection. It is an intake.Open.
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

// openActive opens the client of an active connection. It fails with intake.ErrRefused if the connection cannot be
// read.
func (s *Systems) openActive(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	connectionID id.ID,
) (*connection.Connection, pms.Client, error) {
	var c *connection.Connection

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = connection.Get(ctx, tx, connectionID)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the connection of a source: %w", err)
	}

	// A connection that was switched off or must be connected again is not read.
	if c.Status != connection.Active {
		return nil, nil, intake.ErrRefused
	}

	client, err := s.open(d, scope, c, newTokens(d, scope, s.box, c))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", intake.ErrRefused, err)
	}

	return c, client, nil
}
