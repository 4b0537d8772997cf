package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// Fault says in our own words why a connection does not work. It is shown in context.error of the issue of the
// connection until that works, or is changed.
type Fault string

// The faults. A person mends those of credentials and accounts, and asks the app about the others.
const (
	// FaultCredentials: the app refuses the credentials.
	FaultCredentials Fault = "credentialsRefused"
	// FaultOtherAccount: the credentials are of another account than the records of the connection.
	FaultOtherAccount Fault = "otherAccount"
	// FaultSameAccount: another active connection has the account.
	FaultSameAccount Fault = "alreadyConnected"
	// FaultRefused: the app answers and cannot be used.
	FaultRefused Fault = "refused"
	// FaultTooMany: the app has more than is read, or its pages do not end.
	FaultTooMany Fault = "tooManyRecords"
	// FaultProtocol: the answers of the app are not of its protocol.
	FaultProtocol Fault = "protocolError"
	// FaultLimited: the app takes no more calls for longer than is waited for.
	FaultLimited Fault = "limited"
	// FaultUnavailable: the app cannot be reached.
	FaultUnavailable Fault = "unavailable"
	// FaultInternal: the failure is ours.
	FaultInternal Fault = "internal"
)

// ReadFault returns the fault of an error from an app.
func ReadFault(cause error) Fault {
	for _, f := range []struct {
		error

		is Fault
	}{
		{errLong, FaultLimited},
		{errOtherAccount, FaultOtherAccount},
		{errSameAccount, FaultSameAccount},
		{outbound.ErrEndless, FaultTooMany},
		{ErrCredentials, FaultCredentials},
		{ErrUnusable, FaultRefused},
		{ErrProtocol, FaultProtocol},
		{ErrUnavailable, FaultUnavailable},
		{ErrTimeout, FaultUnavailable},
	} {
		if errors.Is(cause, f.error) {
			return f.is
		}
	}

	return FaultInternal
}

// errLong ends an attempt to connect to an app that wants not to be asked again for longer than is tried.
var errLong = errors.New("the app takes no more calls for long")

// checkWait returns the error of an app, with errLong if it wants not to be asked again for longer than is tried.
func checkWait(cause error, now time.Time) error {
	var said interface{ RetryAt() time.Time }
	if errors.As(cause, &said) && said.RetryAt().Sub(now) > connectFor {
		return fmt.Errorf("%w: %w", errLong, cause)
	}

	return cause
}

// saveFault saves why a connection does not work.
func saveFault(ctx context.Context, tx *db.Tx, connection id.ID, f Fault) error {
	_, err := tx.Exec(ctx, `update connection set fault = @fault where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": connection, "fault": f})
	if err != nil {
		return fmt.Errorf("save why a connection does not work: %w", err)
	}

	return nil
}

// faultCodeSQL is the code of the issue of a connection c with a fault.
const faultCodeSQL = `case c.status when 'reconnectRequired' then 'connectionReconnectRequired' when 'connecting' then 'connectDelayed' else 'connectFailed' end`

// faultSeveritySQL is its severity: an attempt that goes on may still work.
const faultSeveritySQL = `case c.status when 'connecting' then 'warning' else 'error' end`

// faultSQL selects the issue of a connection c as a list of findings, which is empty without a fault.
const faultSQL = `case when c.fault is null then '[]'::jsonb else jsonb_build_array(jsonb_build_object('code', ` + faultCodeSQL + `, 'severity', ` + faultSeveritySQL + `,
	'context', jsonb_build_object('error', c.fault))) end`
