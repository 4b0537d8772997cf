package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stayledger/app"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// demoFile is demo.json in the data folder.
type demoFile struct {
	BaseURL      string    `json:"baseUrl"`
	Today        day.Day   `json:"today"`
	StartsAt     day.Day   `json:"startsAt"` // first day of the books
	Partner      demoTeam  `json:"partner"`
	Team         demoTeam  `json:"team"`
	SecondTeam   demoTeam  `json:"secondTeam"`
	MultiTeamKey string    `json:"multiTeamKey"`
	User         demoUser  `json:"user"`
	Owner        demoOwner `json:"owner"`
}

type demoTeam struct {
	TeamID      id.ID  `json:"teamId"`
	APIKey      string `json:"apiKey"`
	ReadOnlyKey string `json:"readOnlyKey,omitempty"`
}

type demoUser struct {
	UserID      id.ID  `json:"userId"`
	AccessToken string `json:"accessToken"`
}

type demoOwner struct {
	ContactID   id.ID  `json:"contactId"`
	AccessToken string `json:"accessToken"`
}

// demoPath returns the path of demo.json in a data folder; an empty one is this user's.
func demoPath(dataDir string) (string, error) {
	if dataDir == "" {
		var err error
		if dataDir, err = defaultDataDir(); err != nil {
			return "", err
		}
	}

	return filepath.Join(dataDir, "demo.json"), nil
}

// loadDemo reads demo.json. It fails with fs.ErrNotExist if there is none.
func loadDemo(path string) (*demoFile, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own folder
	if err != nil {
		return nil, fmt.Errorf("read demo.json: %w", err)
	}

	var d demoFile
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read demo.json: %w", err)
	}

	return &d, nil
}

// readDemo reads demo.json. It returns nil if there is none or its team does not exist in this database.
func readDemo(ctx context.Context, a *app.App, path string) (*demoFile, error) {
	d, err := loadDemo(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no demo yet
	}

	if err != nil {
		return nil, err
	}

	// The file may outlive its database: then the books are filled again.
	var starts *day.Day

	err = a.DB.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		starts, err = db.Maybe[day.Day](ctx, tx, `select coalesce(statement_start_at, created_at::date) from team where id = @team`, db.Args{"team": d.Team.TeamID})
		return err
	})
	if err != nil || starts == nil {
		return nil, err
	}

	// A file of an earlier version does not have it.
	d.StartsAt = *starts

	return d, nil
}

// writeDemo writes the demo file, which has keys, for its owner's eyes only. It is replaced as a whole.
func writeDemo(path string, d *demoFile) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write demo.json: %w", err)
	}

	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write demo.json: %w", err)
	}

	return os.Rename(path+".new", path)
}
