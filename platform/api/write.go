package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// write runs a write in its one transaction. The answer is rendered inside it, so an answer that cannot be told is not kept either.
func (s *Server) write(ctx context.Context, rc *requestContext, f func(context.Context, *db.Tx) (any, error)) (any, error) {
	var out *rendered
	work := func(ctx context.Context, tx *db.Tx) error {
		if rc.key != "" {
			if err := claimKey(ctx, tx, rc); err != nil {
				return err
			}
		}
		answer, err := f(ctx, tx)
		if err != nil {
			return err
		}
		if out, err = rc.plan.endpoint.render(answer); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
		if rc.dryRun {
			tx.AtEnd(s.Audit(tx, rc.plan.endpoint)) // what the real call would fail on
			return nil
		}
		out.headers = map[string]string{
			"X-Service-Audit-Should-Poll": strconv.FormatBool(tx.Queued()),
			"X-Service-Audit-Action-Id":   tx.Action.Typed("act"),
		}
		tx.AtEnd(s.Audit(tx, rc.plan.endpoint))
		if rc.key != "" {
			return keepAnswer(tx, rc, out)
		}
		return nil
	}
	if rc.dryRun {
		if err := s.DB.DryRun(ctx, rc.scope, work); err != nil {
			return nil, err
		}
		return out, nil
	}
	err := s.DB.Write(ctx, rc.scope, work)
	if errors.Is(err, errKeyUsed) {
		stored, err := s.replay(ctx, rc)
		if err == nil && stored == nil {
			err = apierr.ServiceUnavailable
		}
		return stored, err
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

var (
	errKeyUsed      = errors.New("idempotency key is in use")
	errMalformedKey = apierr.New(apierr.CodeBadRequest, "", "Idempotency key is malformed")
	keyForm         = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
)

// takesKey reports whether requests can name an Idempotency-Key: a POST, for a team, whose answer is kept with what it changed.
func (e *Endpoint) takesKey() bool {
	return e.Method == http.MethodPost && e.kind == kindWrite && !e.Public && e.Selection != NoTeam
}

// readKey takes the Idempotency-Key of a request and what tells its body from another. That is no plain hash: a body can hold an account number,
// which the hash would let anyone guess who has a copy of the database.
func (rc *requestContext) readKey(r *http.Request, body, secret []byte) error {
	rc.key = r.Header.Get("Idempotency-Key")
	if rc.key == "" {
		return nil
	}
	if !keyForm.MatchString(rc.key) {
		return errMalformedKey.At(apierr.Issue{Message: "Value is malformed", Code: "malformed", Path: []any{"Idempotency-Key"}, Schema: "header"})
	}
	if rc.dryRun || rc.scope.Team.IsZero() {
		rc.key = "" // a dry run neither stores nor consumes a key
		return nil
	}
	h := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s\x00", rc.plan.endpoint.ID, r.URL.Path, r.URL.RawQuery)
	h.Write(body)
	h.Sum(rc.hash[:0])
	return nil
}

// claimKey takes the key for this request; a key older than a day is free again. A request with the same key that is under way is waited for.
func claimKey(ctx context.Context, tx *db.Tx, rc *requestContext) error {
	n, err := tx.Exec(ctx, `
		insert into api_idempotency as k (team_id, user_id, key, request_hash, status, headers, body, created_at)
		values (@team, @user, @key, @hash, 0, '{}', '', @now)
		on conflict (team_id, user_id, key) do update
			set request_hash = excluded.request_hash, created_at = excluded.created_at
			where k.created_at <= excluded.created_at - interval '24 hours'`,
		db.Args{"team": tx.Team, "user": tx.Actor.User, "key": rc.key, "hash": rc.hash[:], "now": tx.Now})
	if err == nil && n == 0 {
		err = errKeyUsed
	}
	return err
}

func keepAnswer(tx *db.Tx, rc *requestContext, out *rendered) error {
	headers, err := json.Marshal(out.headers)
	if err != nil {
		return err
	}
	body := out.body
	if body == nil {
		body = []byte{}
	}
	tx.AtEnd(db.Stmt{
		SQL: `update api_idempotency set status = @status, headers = @headers, body = @body where team_id = @team and user_id = @user and key = @key`,
		Args: db.Args{
			"status": out.status, "headers": json.RawMessage(headers), "body": body, "team": tx.Team, "user": tx.Actor.User, "key": rc.key,
		},
	})
	return nil
}

// replay gives the stored answer of an earlier request with the same key, or nil when there is none.
func (s *Server) replay(ctx context.Context, rc *requestContext) (any, error) {
	type stored struct {
		RequestHash []byte
		Status      int
		Headers     map[string]string
		Body        []byte
	}
	var found []stored
	err := s.DB.ReadOne(ctx, rc.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[stored](ctx, tx, `
			select request_hash, status, headers, body from api_idempotency
			where team_id = @team and user_id = @user and key = @key and created_at > @now::timestamptz - interval '24 hours'`,
			db.Args{"team": tx.Team, "user": tx.Actor.User, "key": rc.key, "now": tx.Now})
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if string(found[0].RequestHash) != string(rc.hash[:]) {
		return nil, apierr.IdempotencyConflict
	}
	out := &rendered{status: found[0].Status, headers: found[0].Headers, body: found[0].Body}
	if len(out.body) == 0 {
		out.body = nil // as it was: an answer without a body has no content type
	}
	return out, nil
}
