package db

// URL is the address of the database.
func (d *DB) URL() string { return d.pool.Config().ConnString() }
