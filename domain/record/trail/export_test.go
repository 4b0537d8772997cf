package trail

import "stayledger/domain/record/audit"

// ReadScope returns the scope with which a caller reads the values of a record.
func ReadScope(entity audit.Entity) string { return readScopes[entity] }
