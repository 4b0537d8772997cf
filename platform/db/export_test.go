package db

// URL is the address of the database.
func (d *DB) URL() string { return d.pool.Config().ConnString() }

// ReferenceTables are the tables of reference data, as a pattern.
const ReferenceTables = referenceTables
