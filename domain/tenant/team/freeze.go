package team

import "stayledger/platform/apierr"

// The refusals of writes in a frozen team.
var (
	ErrMigrating = apierr.New(apierr.CodeTeamMigrationFrozen, "", "Team is frozen by a migration")
	errDeleting  = apierr.New(apierr.CodeTeamDeletionFrozen, "", "Team is frozen by its deletion")
	errFrozen    = apierr.New(apierr.CodeTeamWritesFrozen, "", "Team does not accept writes")
)

// Freezes lists the refusals of writes in a frozen team.
func Freezes() apierr.List { return apierr.List{ErrMigrating, errDeleting, errFrozen} }

// FrozenBy returns the refusal for the reason of a freeze.
func FrozenBy(reason string) *apierr.Error {
	switch reason {
	case "migration":
		return ErrMigrating
	case "deletion":
		return errDeleting
	}

	return errFrozen
}
