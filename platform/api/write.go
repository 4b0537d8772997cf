package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// write runs a write in its one transaction. It renders the answer inside, so a write with an answer that cannot be
// encoded is rolled back.
func (s *Server) write(
	ctx context.Context,
	rc *requestContext,
	f func(context.Context, *db.Tx) (any, error),
) (any, error) {
	var out *rendered

	work := func(ctx context.Context, tx *db.Tx) error {
		if rc.key != "" {
			if err := s.claimKey(ctx, tx, rc); err != nil {
				return err
			}
		}

		// The work itself; its error rolls everything back.
		answer, err := f(ctx, tx)
		if err != nil {
			return err
		}

		if out, err = rc.plan.endpoint.render(answer); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}

		if rc.dryRun {
			s.Audit(tx, rc.plan.endpoint) // the real call could fail on it
			return nil
		}

		out.headers = map[string]string{
			"X-Service-Audit-Should-Poll": strconv.FormatBool(tx.HasQueued()),
			"X-Service-Audit-Action-Id":   tx.Action.TypeID("act"),
		}
		s.Audit(tx, rc.plan.endpoint)

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

	// A request with the same key may have committed meanwhile: then its answer is ours.
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

// takesKey reports whether requests can name an Idempotency-Key: a POST for a team with an answer that is stored
// together with the change.
func (e *Endpoint) takesKey() bool {
	return e.Method == http.MethodPost && e.kind == kindWrite && !e.Public && !e.Secret && e.Selection != NoTeam
}

// readKey reads the Idempotency-Key of a request and the digest of its body.
func (rc *requestContext) readKey(r *http.Request, body []byte) error {
	if err := rc.takeKey(r); err != nil || rc.key == "" {
		return err
	}

	h := rc.newDigest(r)
	h.Write(body)
	h.Sum(rc.digest[:0])

	return nil
}

// takeKey reads the Idempotency-Key of a request. It fails with 400 for a malformed one.
func (rc *requestContext) takeKey(r *http.Request) error {
	rc.key = r.Header.Get("Idempotency-Key")
	if rc.key == "" {
		return nil
	}

	if !keyForm.MatchString(rc.key) {
		return errMalformedKey.At(apierr.IssueMalformed.InHeader("Idempotency-Key"))
	}

	if rc.dryRun || rc.scope.Team.IsZero() {
		rc.key = "" // a dry run neither stores nor consumes a key
	}

	return nil
}

// newDigest returns the hash that distinguishes a request from others with the same key.
func (rc *requestContext) newDigest(r *http.Request) hash.Hash {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s\x00", rc.plan.endpoint.ID, r.URL.Path, r.URL.RawQuery)

	return h
}

// mac returns the stored form of the digest. A body can contain an account number, which the digest itself would
// reveal to anyone who has a copy of the database and guesses.
func (rc *requestContext) mac(secret []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(rc.digest[:])

	return h.Sum(nil)
}

// matchesDigest reports whether a request with this digest is the stored one, under any of the server's keys.
func (s *Server) matchesDigest(rc *requestContext, kept []byte) bool {
	return hmac.Equal(kept, rc.mac(s.CursorKey)) ||
		slices.ContainsFunc(s.FormerKeys, func(former []byte) bool { return hmac.Equal(kept, rc.mac(former)) })
}

// bindUpload prepares the reading of a form. Its digest is known once it has been read; finishUpload takes it then.
func (s *Server) bindUpload(w http.ResponseWriter, r *http.Request, rc *requestContext, in reflect.Value) error {
	if err := rc.takeKey(r); err != nil {
		return err
	}

	upload, err := s.newUpload(w, r, rc)
	if err != nil {
		return err
	}

	in.FieldByIndex(rc.plan.uploadIndex).Set(reflect.ValueOf(upload))
	rc.again = func(ctx context.Context) error {
		if rc.plan.endpoint.Public {
			return nil
		}

		_, err := s.Authenticate(ctx, r, rc.plan.endpoint)

		return err
	}

	return nil
}

// finishUpload ends the reading of an upload, which can take minutes: meanwhile the team may have been frozen or
// deleted, or the credential revoked. It fails in that case.
func (rc *requestContext) finishUpload(ctx context.Context, in reflect.Value) error {
	if rc.plan.uploadIndex == nil {
		return nil
	}

	upload, ok := reflect.TypeAssert[*Upload](in.Elem().FieldByIndex(rc.plan.uploadIndex))
	if ok && upload.sum != nil {
		upload.sum.Sum(rc.digest[:0])
	}

	return rc.again(ctx)
}

// claimKey takes the key for this request; a key older than a day is free again. A request with the same key that is
// under way is waited for.
func (s *Server) claimKey(ctx context.Context, tx *db.Tx, rc *requestContext) error {
	n, err := tx.Exec(ctx, `
		insert into api_idempotency as k (team_id, user_id, key, request_hash, status, headers, body, created_at)
		values (@team, @user, @key, @hash, 0, '{}', '', @now)
		on conflict (team_id, user_id, key) do update
			set request_hash = excluded.request_hash, created_at = excluded.created_at
			where k.created_at <= excluded.created_at - interval '`+keepAnswers+`'`,
		db.Args{"team": tx.Team, "user": tx.Actor.User, "key": rc.key, "hash": rc.mac(s.CursorKey), "now": tx.Now})
	if err == nil && n == 0 {
		err = errKeyUsed
	}

	return err
}

// keepAnswer stores the answer of a request for repetitions with the same key.
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
			"status":  out.status,
			"headers": json.RawMessage(headers),
			"body":    body,
			"team":    tx.Team,
			"user":    tx.Actor.User,
			"key":     rc.key,
		},
	})

	return nil
}

// replay returns the stored answer of an earlier request with the same key, or nil. It fails with a conflict if
// that request was different.
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
			where team_id = @team and user_id = @user and key = @key and created_at > @now::timestamptz - interval '`+keepAnswers+`'`,
			db.Args{"team": tx.Team, "user": tx.Actor.User, "key": rc.key, "now": tx.Now})

		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}

	if !s.matchesDigest(rc, found[0].RequestHash) {
		return nil, apierr.IdempotencyConflict.At(apierr.IssueIdempotencyKeyReused.InHeader("Idempotency-Key"))
	}

	out := &rendered{status: found[0].Status, headers: map[string]string{"Idempotent-Replayed": "true"}, body: found[0].Body}
	maps.Copy(out.headers, found[0].Headers)

	if len(out.body) == 0 {
		out.body = nil // an answer without a body has no content type
	}

	return out, nil
}
