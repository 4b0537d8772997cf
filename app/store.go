package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"stayledger/platform/blob"
)

// storeTime bounds how long the object store may take to answer at the start.
const storeTime = time.Minute

// checkStore returns an error for settings of the object store that cannot work.
func (c *Config) checkStore() error {
	if c.StoreURL == "" {
		if c.StoreAccessKey != "" || c.StoreSecretKey != "" {
			return errors.New("STAYLEDGER_STORE_ACCESS_KEY and STAYLEDGER_STORE_SECRET_KEY are set, but no " +
				"STAYLEDGER_STORE_URL")
		}

		return nil
	}

	_, err := c.objectStore()

	return err
}

func (c *Config) objectStore() (blob.S3Config, error) {
	s, err := blob.ParseS3(c.StoreURL, c.StoreAccessKey, c.StoreSecretKey)
	if err != nil {
		err = fmt.Errorf("STAYLEDGER_STORE_URL, STAYLEDGER_STORE_ACCESS_KEY, STAYLEDGER_STORE_SECRET_KEY: %w", err)
	}

	return s, err
}

// store opens the object store of the settings, or a folder of the data folder. It fails at the start for an object
// store that cannot be used, before an export needs it.
func (c *Config) store(ctx context.Context, log *slog.Logger) (blob.Store, error) {
	if c.StoreURL == "" {
		folder := filepath.Join(c.DataDir, "files")

		store, err := blob.Local(folder)
		if err != nil {
			return nil, fmt.Errorf("file store: %w", err)
		}

		return store, nil
	}

	settings, err := c.objectStore()
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()

	store, err := blob.S3(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("STAYLEDGER_STORE_URL: %w", err)
	}

	log.Info("files are kept in an object store",
		"endpoint", settings.Endpoint, "bucket", settings.Bucket, "prefix", settings.Prefix)

	return store, nil
}
