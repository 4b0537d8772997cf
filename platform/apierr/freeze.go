package apierr

// The refusals of writes in a frozen team (ERR-94).
var (
	Migrating = New(CodeTeamMigrationFrozen, "", "Team is frozen by a migration")
	deleting  = New(CodeTeamDeletionFrozen, "", "Team is frozen by its deletion")
	frozen    = New(CodeTeamWritesFrozen, "", "Team does not accept writes")
)

// Freezes lists the refusals of writes in a frozen team.
func Freezes() List { return List{Migrating, deleting, frozen} }

// FrozenBy returns the refusal for the reason of a freeze.
func FrozenBy(reason string) *Error {
	switch reason {
	case "migration":
		return Migrating
	case "deletion":
		return deleting
	}

	return frozen
}
