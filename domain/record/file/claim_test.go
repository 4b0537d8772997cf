package file_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"stayledger/domain/record/file"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
)

func emptyStore(t *testing.T) blob.Store {
	t.Helper()

	store, err := blob.Local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	return store
}

func ownDatabase(t *testing.T) *db.DB {
	t.Helper()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	return d
}

func TestAStoreBelongsToOneDatabase(t *testing.T) {
	t.Parallel()

	claim := func(d *db.DB, s blob.Store, adopt bool) error { return file.Claim(context.Background(), d, s, adopt) }
	one, other := ownDatabase(t), ownDatabase(t)
	ours, empty := emptyStore(t), emptyStore(t)

	var processes sync.WaitGroup
	for range 8 { // processes that start together agree
		processes.Go(func() {
			if err := claim(one, ours, false); err != nil {
				t.Errorf("claiming a new store: %v", err)
			}
		})
	}

	processes.Wait()

	if err := claim(one, empty, false); !errors.Is(err, file.ErrForeignStore) {
		t.Errorf("a store without the marker says %v", err)
	}

	if err := claim(other, ours, false); !errors.Is(err, file.ErrForeignStore) {
		t.Errorf("the store of another database says %v", err)
	}

	if err := claim(one, ours, false); err != nil {
		t.Errorf("after strangers came, the own store says %v", err)
	}

	if err := claim(one, empty, true); err != nil {
		t.Errorf("adopting a store: %v", err)
	}

	if err := claim(one, empty, false); err != nil {
		t.Errorf("an adopted store says %v", err)
	}
}
