package proof

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/platform/db"
)

// The tree is kept in tiles of this height, so a full tile has 256 hashes.
const (
	tileHeight = 8
	tileHashes = 1 << tileHeight
)

// place names a tile: which it is in its level.
type place struct{ level, n int64 }

// tree grows by leaves. Of what it has it keeps the last complete subtree of each height, which is all that further
// leaves and the root need; added are the new hashes of its tiles.
type tree struct {
	size  int64
	last  [64]tlog.Hash
	added map[place][]byte
}

// newTree returns the tree of the first leaves.
func newTree(size int64, stored *tiles) (*tree, error) {
	t := &tree{size: size, added: map[place][]byte{}}

	var indexes []int64
	for height := range bits.Len64(uint64(size)) { //nolint:gosec // sizes are not negative
		indexes = append(indexes, tlog.StoredHashIndex(height, size>>height-1))
	}

	hashes, err := stored.readHashes(indexes)
	copy(t.last[:], hashes)

	return t, err
}

// readHashes returns hashes of the last complete subtrees.
func (t *tree) readHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		height, _ := tlog.SplitStoredHashIndex(index)
		hashes[i] = t.last[height]
	}

	return hashes, nil
}

// add appends a leaf.
func (t *tree) add(leaf tlog.Hash) error {
	hashes, err := tlog.StoredHashesForRecordHash(t.size, leaf, tlog.HashReaderFunc(t.readHashes))
	if err != nil {
		return fmt.Errorf("add a leaf: %w", err)
	}

	// Every eighth height is a level of tiles.
	for height, hash := range hashes {
		t.last[height] = hash
		if height%tileHeight == 0 {
			at := place{int64(height / tileHeight), t.size >> height >> tileHeight}
			t.added[at] = append(t.added[at], hash[:]...)
		}
	}

	t.size++

	return nil
}

// root returns the hash of the tree.
func (t *tree) root() (tlog.Hash, error) {
	return tlog.TreeHash(t.size, tlog.HashReaderFunc(t.readHashes))
}

// tiles reads hashes of the tree from the tiles in the database.
type tiles struct {
	ctx   context.Context //nolint:containedctx // HashReader passes none
	tx    *db.Tx
	known map[place][]byte
}

// newTiles returns a reader in a transaction across teams.
func newTiles(ctx context.Context, tx *db.Tx) *tiles {
	return &tiles{ctx, tx, map[place][]byte{}}
}

// tileRow is a stored tile.
type tileRow struct {
	Level, N int64
	Hashes   []byte
}

const loadTiles = `select t.level::bigint as level, t.n, t.hashes from unnest(@levels::int[], @ns::bigint[]) k (level, n)
	join audit_tile t on t.level = k.level and t.n = k.n`

// load adds the tiles at these places.
func (t *tiles) load(places []place) error {
	levels, ns := make([]int64, len(places)), make([]int64, len(places))
	for i, p := range places {
		levels[i], ns[i] = p.level, p.n
	}

	rows, err := db.Select[tileRow](t.ctx, t.tx, loadTiles, db.Args{"levels": levels, "ns": ns})
	if err != nil {
		return fmt.Errorf("read tiles of the log: %w", err)
	}

	for _, r := range rows {
		t.known[place{r.Level, r.N}] = r.Hashes
	}

	return nil
}

// errNoTile says that a hash of the tree is not in its tile.
var errNoTile = errors.New("the log lacks hashes of its tree")

// readHashes returns stored hashes. It fails with errNoTile if one is missing.
func (t *tiles) readHashes(indexes []int64) ([]tlog.Hash, error) {
	var missing []place

	for _, index := range indexes {
		tile := tlog.TileForIndex(tileHeight, index)
		at := place{int64(tile.L), tile.N}

		if _, isKnown := t.known[at]; !isKnown {
			t.known[at] = nil
			missing = append(missing, at)
		}
	}

	if err := t.load(missing); err != nil {
		return nil, err
	}

	hashes := make([]tlog.Hash, len(indexes))

	for i, index := range indexes {
		tile := tlog.TileForIndex(tileHeight, index)

		hash, err := tlog.HashFromTile(tile, t.known[place{int64(tile.L), tile.N}], index)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoTile, err)
		}

		hashes[i] = hash
	}

	return hashes, nil
}
