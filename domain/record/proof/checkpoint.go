package proof

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// checkpointTime is how far two checkpoints are apart at least.
const checkpointTime = 10 * time.Minute

// newKey returns a new signing key and its verifier key, each on a line.
func newKey(log id.ID) ([]byte, error) {
	signer, verifier, err := note.GenerateKey(rand.Reader, "stayledger-audit/"+log.String())
	if err != nil {
		return nil, fmt.Errorf("make the key of the audit log: %w", err)
	}

	return []byte(signer + "\n" + verifier), nil
}

// keys returns the signing key and the verifier key of the log. It fails if the box cannot open them.
func (c Config) keys(h *head) (signer, verifier string, err error) {
	plain, err := c.Box.Open(h.Key, label(h.ID))
	if err != nil {
		return "", "", fmt.Errorf("open the key of the audit log: %w", err)
	}

	signer, verifier, _ = strings.Cut(string(plain), "\n")

	return signer, verifier, nil
}

var errCheckpoint = errors.New("the checkpoint has another form")

// formatCheckpoint returns the text of a checkpoint as C2SP tlog-checkpoint has it: a line each for the name of the log,
// its size and its root.
func formatCheckpoint(name string, t tlog.Tree) string {
	return fmt.Sprintf("%s\n%d\n%s\n", name, t.N, t.Hash)
}

// openCheckpoint returns the tree that a signed checkpoint is about. It fails if the signature is not by this key alone.
func openCheckpoint(text, verifier string) (t tlog.Tree, err error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		return t, fmt.Errorf("verifier key: %w", err)
	}

	n, err := note.Open([]byte(text), note.VerifierList(v))
	if err != nil {
		return t, fmt.Errorf("checkpoint: %w", err)
	}

	// One text for one tree: neither further signatures nor another way to write it.
	if len(n.Sigs) != 1 || len(n.UnverifiedSigs) != 0 {
		return t, errCheckpoint
	}

	_, sigErr := base64.StdEncoding.Strict().DecodeString(n.Sigs[0].Base64)

	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || sigErr != nil {
		return t, errCheckpoint
	}

	size, err1 := strconv.ParseInt(lines[1], 10, 64)

	root, err2 := tlog.ParseHash(lines[2])
	if t = (tlog.Tree{N: size, Hash: root}); err1 != nil || err2 != nil || formatCheckpoint(v.Name(), t) != n.Text {
		return t, errCheckpoint
	}

	return t, nil
}

// checkpoint is a signed note about the tree of a size.
type checkpoint struct {
	TreeSize int64
	Root     []byte
	Note     string
	KeptAt   *time.Time
}

const loadLatest = `select tree_size, root, note, kept_at from audit_checkpoint order by tree_size desc limit 1`

// makeCheckpoint signs the tree if it has grown since the latest checkpoint and that is old enough, and puts the latest
// checkpoint into the file store if it is not there.
func (c Config) makeCheckpoint(ctx context.Context, d *db.DB, after time.Duration) error {
	var latest *checkpoint

	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		h, err := c.lockHead(ctx, tx)
		if err != nil {
			return err
		}

		isDue, err := db.Get[bool](ctx, tx, `select not exists (select from audit_checkpoint
			where tree_size >= @size or created_at > @before) and @size > 0`, db.Args{"size": h.Size, "before": tx.Now.Add(-after)})
		if err != nil {
			return fmt.Errorf("find the latest checkpoint: %w", err)
		}

		if isDue {
			if err := c.insertCheckpoint(ctx, tx, h); err != nil {
				return err
			}
		}

		latest, err = db.Maybe[checkpoint](ctx, tx, loadLatest, nil)

		return err
	})
	if err != nil || latest == nil || latest.KeptAt != nil {
		return err
	}

	// The store has no transactions: the database has the checkpoint before the store, so a store that is ahead of its
	// database shows that the database lost something.
	for _, key := range []string{checkpointKey(latest.TreeSize), latestKey} {
		if err := c.writeBlob(ctx, key, latest.Note); err != nil {
			return err
		}
	}

	return d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update audit_checkpoint set kept_at = @now where tree_size = @size and kept_at is null`,
			db.Args{"now": tx.Now, "size": latest.TreeSize})

		return err
	})
}

// insertCheckpoint signs the present tree.
func (c Config) insertCheckpoint(ctx context.Context, tx *db.Tx, h *head) error {
	t, err := newTree(h.Size, newTiles(ctx, tx))
	if err != nil {
		return err
	}

	root, err := t.root()
	if err != nil {
		return fmt.Errorf("hash the tree: %w", err)
	}

	key, _, err := c.keys(h)
	if err != nil {
		return err
	}

	signer, err := note.NewSigner(key)
	if err != nil {
		return fmt.Errorf("key of the audit log: %w", err)
	}

	signed, err := note.Sign(&note.Note{Text: formatCheckpoint(signer.Name(), tlog.Tree{N: h.Size, Hash: root})}, signer)
	if err != nil {
		return fmt.Errorf("sign a checkpoint: %w", err)
	}

	_, err = tx.Exec(ctx, `insert into audit_checkpoint (tree_size, root, note, created_at) values (@size, @root, @note, @now)`,
		db.Args{"size": h.Size, "root": root[:], "note": string(signed), "now": tx.Now})

	return err
}

// latestKey is the object with the latest checkpoint, checkpointKey that of a tree's size.
const latestKey = "audit-checkpoint/latest"

func checkpointKey(size int64) string { return fmt.Sprintf("audit-checkpoint/%016d", size) }

// writeBlob puts a text into the file store.
func (c Config) writeBlob(ctx context.Context, key, text string) error {
	w, err := c.Store.Create(ctx, key)
	if err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}

	defer func() { _ = w.Abort() }()

	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}

	if _, err := w.Commit(); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}

	return nil
}

// maxCheckpoint bounds what is read of a checkpoint in the file store, in bytes.
const maxCheckpoint = 4096

// readBlob returns a text of the file store, or "" if there is none.
func (c Config) readBlob(ctx context.Context, key string) (string, error) {
	object, err := c.Store.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}

	if err != nil {
		return "", fmt.Errorf("read a checkpoint: %w", err)
	}

	defer func() { _ = object.Close() }()

	text, err := io.ReadAll(io.LimitReader(object, maxCheckpoint))
	if err != nil {
		return "", fmt.Errorf("read a checkpoint: %w", err)
	}

	return string(text), nil
}
