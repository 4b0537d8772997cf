package proof

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/mod/sumdb/tlog"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/trail"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// errNotSealed refuses a proof of an event that no checkpoint covers yet.
var errNotSealed = apierr.New(apierr.CodeConflict, "", "Event is not under a checkpoint yet")

// proofInput names a revision of an event.
type proofInput struct {
	ID       id.ID  `path:"id"`
	Revision *int64 `query:"revision" minimum:"1" doc:"The revision to prove; the latest when absent. Each revision has the changes that it added."`
}

// endpoints returns the read endpoint. It is closed to owners and embedded sessions, as the trail.
func (c Config) endpoints() []api.Endpoint {
	return []api.Endpoint{
		// The tree is one for all teams, so it is read in a transaction of its own.
		api.External(api.Endpoint{
			Method: http.MethodGet, Path: "/audit/events/{id}/proof", ID: "proveAuditEvent", Tag: "Audit",
			Summary: "Prove what was changed",
			Doc: "Everything that `stayledger audit check` needs to prove, without the service, that the event is in the " +
				"log of a signed checkpoint. Values that the credential may not read are commitments. Checkpoints are made " +
				"every ten minutes; until then the answer is 409.",
			Errors: apierr.List{errNotSealed}, Scopes: []string{"audit:read"},
		}, c.prove),
	}
}

// leaf is where a revision is in the log.
type leaf struct {
	Seq  int64
	Salt []byte
}

// prove answers with the proof of a revision. It fails with apierr.NotFound, and with errNotSealed before a checkpoint.
func (c Config) prove(ctx context.Context, d *db.DB, scope db.Scope, in *proofInput) (*Proof, error) {
	var (
		found event
		at    *leaf
	)

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		args, which := db.Args{"team": tx.Team, "id": in.ID}, ""
		if in.Revision != nil {
			args["revision"], which = *in.Revision, " and e.revision = @revision"
		}

		found, err = db.One[event](ctx, tx, apierr.NotFound, `select `+eventColumns+` from audit_event e
			where e.team_id = @team and e.id = @id`+which+` order by e.revision desc limit 1`, args)
		if err != nil {
			return err
		}

		at, err = db.Maybe[leaf](ctx, tx, `select seq, salt from audit_leaf where team_id = @team and event_id = @id and revision = @revision`,
			db.Args{"team": tx.Team, "id": found.ID, "revision": found.Revision})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the event to prove: %w", err)
	}

	if at == nil {
		return nil, errNotSealed
	}

	p, err := found.prove(at.Salt)
	if err != nil {
		return nil, err
	}

	if err := p.restrict(scope.Actor); err != nil {
		return nil, err
	}

	return c.include(ctx, d, p, at.Seq)
}

// restrict hides what the caller may not read, and brings the rest into the form of proofs.
func (p *ProvenEvent) restrict(actor db.Actor) error {
	if !actor.Has(trail.ReadScope(audit.Entity(p.EntityType))) {
		for i := range p.Changes {
			for _, v := range []*Value{p.Changes[i].Old, p.Changes[i].New} {
				if err := v.hide(); err != nil {
					return err
				}
			}
		}
	}

	if !actor.Has("general-ledger:read") {
		if err := p.Journal.hide(); err != nil {
			return err
		}
	}

	return p.normalize()
}

// include returns the proof that an event is under the latest checkpoint. It fails with errNotSealed if it is not.
func (c Config) include(ctx context.Context, d *db.DB, p *ProvenEvent, seq int64) (*Proof, error) {
	var out *Proof

	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		latest, err := db.Maybe[checkpoint](ctx, tx, loadLatest, nil)
		switch {
		case err != nil:
			return err
		case latest == nil || latest.TreeSize <= seq:
			return errNotSealed
		}

		h, err := db.Get[head](ctx, tx, loadHead, nil)
		if err != nil {
			return err
		}

		_, verifier, err := c.keys(&h)
		if err != nil {
			return err
		}

		hashes, err := tlog.ProveRecord(latest.TreeSize, seq, tlog.HashReaderFunc(newTiles(ctx, tx).readHashes))
		if err != nil {
			return fmt.Errorf("prove a leaf: %w", err)
		}

		out = &Proof{
			Event: *p, Seq: seq, TreeSize: latest.TreeSize, Inclusion: make([]string, len(hashes)),
			Checkpoint: latest.Note, VerifierKey: verifier,
		}
		for i, hash := range hashes {
			out.Inclusion[i] = hash.String()
		}

		// A hash that somebody has changed must not be served as a proof.
		if err := out.check(); err != nil {
			return fmt.Errorf("prove an event: %w", err)
		}

		return nil
	})

	return out, err
}
