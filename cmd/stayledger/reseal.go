package main

import (
	"fmt"

	"stayledger/app"
	"stayledger/platform/db"
)

// resealCmd ends a rotation of the secret keys.
type resealCmd struct {
	database   `embed:""`
	SecretKeys []string `name:"secret-keys" env:"STAYLEDGER_SECRET_KEYS" required:"" help:"The service's keys, the new one first, followed by those to drop."`
}

// Run seals everything anew and prints the counts, a line for each column.
func (c *resealCmd) Run(r *runContext) error {
	d, err := db.Open(r.ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer d.Close()

	return app.Reseal(r.ctx, d, &app.Config{SecretKeys: c.SecretKeys}, func(n app.Resealed) error {
		if _, err := fmt.Printf(
			"%s.%s: %d sealed anew, %d were already, %d cannot be opened\n",
			n.Table,
			n.Column,
			n.Resealed,
			n.Current,
			len(n.Lost),
		); err != nil {
			return err
		}

		// Their key is gone: someone has to enter these values again.
		for _, row := range n.Lost {
			if _, err := fmt.Println("  cannot be opened:", row); err != nil {
				return err
			}
		}

		return nil
	})
}
