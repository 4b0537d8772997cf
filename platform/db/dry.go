package db

// IsDryRun reports whether the transaction is rolled back whatever it does. Only what is asked of the caller may depend
// on it, such as the proof of an earlier dry run; what is written never does.
func (tx *Tx) IsDryRun() bool { return tx.mode == modeDryRun }
