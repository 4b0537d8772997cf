package bankfeed

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"stayledger/provider/sandbox/stage"
)

const (
	// How many times a webhook is sent at most.
	attempts = 8
	// The header that proves where a webhook comes from.
	verification = "Plaid-Verification"
)

// signingKey is a key that webhooks are signed with.
type signingKey struct {
	id      string
	private *ecdsa.PrivateKey
	created time.Time
	expired time.Time // zero while it is valid
}

// rotateKey makes a new key for webhooks. With expire the key before it is expired from now on.
func (s *Server) rotateKey(expire bool) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("bank-feed sandbox: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	// Without expire both keys are valid, as while the vendor changes its keys.
	if expire && len(s.keys) > 0 {
		s.keys[len(s.keys)-1].expired = s.now()
	}

	s.keys = append(s.keys, &signingKey{id: randomID("key"), private: private, created: s.now()})

	return nil
}

// coordinates returns the point of the public key in the encoding of JSON Web Keys. It returns two empty texts if
// there is none.
func (k *signingKey) coordinates() (x, y string) {
	point, err := k.private.PublicKey.Bytes()

	// An uncompressed point of P-256: a byte for the form, then 32 bytes for each coordinate.
	if err != nil || len(point) != 65 {
		return "", ""
	}

	return base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])
}

// getKey answers with the public part of a key, and when it expired.
func (s *Server) getKey(x *exchange) (map[string]any, *Failure) {
	var in struct {
		KeyID string `json:"key_id"`
	}
	if !x.read(&in) {
		return nil, badBody
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	k := find(s.keys, func(k *signingKey) bool { return k.id == in.KeyID })
	if k == nil {
		return nil, badKey
	}

	// The fields of a JSON Web Key, and the vendor's own times in seconds since 1970.
	px, py := k.coordinates()

	wire := map[string]any{
		"alg":        "ES256",
		"crv":        "P-256",
		"kid":        k.id,
		"kty":        "EC",
		"use":        "sig",
		"x":          px,
		"y":          py,
		"created_at": k.created.Unix(),
		"expired_at": nil,
	}
	if !k.expired.IsZero() {
		wire["expired_at"] = k.expired.Unix()
	}

	return map[string]any{"key": wire}, nil
}

// Message is a webhook as it went out.
type Message struct {
	ItemID string `json:"itemId,omitempty"`
	Type   string `json:"type"`
	Code   string `json:"code"`
	URL    string `json:"url"`
	// Verification and Body are those of the last attempt, Status is that of its answer; 0 if none came.
	Verification string `json:"verification"`
	Body         string `json:"body"`
	Status       int    `json:"status"`
	Sent         int    `json:"sent"` // how often
}

// Messages returns the webhooks that went out, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]Message{}, s.messages...)
}

// announceSync sends the webhook that an item has news. It sends none until the transactions of the item have been
// asked for.
func (s *Server) announceSync(itemID string) {
	s.mu.Lock()

	i := s.item(itemID)
	if i == nil || !i.synced {
		s.mu.Unlock()
		return
	}

	// The text is made under the lock, which sending takes for itself.
	body := i.syncNews()
	s.mu.Unlock()
	s.sendItemWebhook(itemID, "TRANSACTIONS", "SYNC_UPDATES_AVAILABLE", body)
}

// syncNews returns the fields of the webhook that say how much of the history is there.
func (i *item) syncNews() map[string]any {
	return map[string]any{
		"initial_update_complete":    i.progress != NotReady,
		"historical_update_complete": i.progress == Historical,
	}
}

// Fire sends a webhook of an item. It returns false if the item has no address for webhooks, or if the code is
// unknown.
func (s *Server) Fire(itemID, code string) bool {
	s.mu.Lock()

	i := s.item(itemID)
	if i == nil || i.webhook == "" {
		s.mu.Unlock()
		return false
	}

	// Most codes are about the item and have no further fields.
	topic, body := "ITEM", map[string]any{}

	switch code {
	case "SYNC_UPDATES_AVAILABLE":
		topic, body = "TRANSACTIONS", i.syncNews()
	case "DEFAULT_UPDATE":
		topic, body = "TRANSACTIONS", map[string]any{"new_transactions": 0, "error": nil}
	case "ERROR":
		body["error"] = loginRequired.wire("")
	case "PENDING_EXPIRATION":
		body["consent_expiration_time"] = s.now().AddDate(0, 0, 7).Format(time.RFC3339)
	case "PENDING_DISCONNECT":
		body["reason"] = "INSTITUTION_MIGRATION"
	case "USER_PERMISSION_REVOKED", "USER_ACCOUNT_REVOKED":
		body["error"] = (&Failure{Type: "ITEM_ERROR", Code: code, Message: "the person took back the consent"}).wire("")
	case "NEW_ACCOUNTS_AVAILABLE", "LOGIN_REPAIRED":
	default:
		s.mu.Unlock()
		return false
	}
	s.mu.Unlock()

	// Sent after the lock is released, because sending takes it.
	s.sendItemWebhook(itemID, topic, code, body)

	return true
}

// sendItemWebhook sends a webhook of an item, unless the item is removed or has no address for webhooks.
func (s *Server) sendItemWebhook(itemID, topic, code string, body map[string]any) {
	s.mu.Lock()
	i := s.item(itemID)

	to := ""
	if i != nil && !i.removed {
		to = i.webhook
	}
	s.mu.Unlock()

	body["item_id"] = itemID
	s.sendWebhook(Message{ItemID: itemID, Type: topic, Code: code, URL: to}, body)
}

// sendLinkWebhook sends the webhook that a person has ended the use of a link. A link without an address for webhooks
// gets none.
func (s *Server) sendLinkWebhook(token, status string, publics []string) {
	s.mu.Lock()

	to := ""
	if l := s.link(token); l != nil {
		to = l.webhook
	}
	s.mu.Unlock()

	// The protocol has the list and, from its earlier times, the first token alone.
	body := map[string]any{"link_token": token, "link_session_id": randomID("session"), "status": status}
	if publics != nil {
		body["public_tokens"], body["public_token"] = publics, publics[0]
	}

	s.sendWebhook(Message{Type: "LINK", Code: "SESSION_FINISHED", URL: to}, body)
}

// sendWebhook sends a webhook in the background and repeats it until it is accepted. Without an address it does
// nothing.
func (s *Server) sendWebhook(m Message, body map[string]any) {
	body["webhook_type"], body["webhook_code"], body["environment"] = m.Type, m.Code, "sandbox"

	s.mu.Lock()
	defer s.mu.Unlock()

	if m.URL == "" || s.ctx.Err() != nil {
		return
	}

	// The message is recorded before it is sent; each attempt updates it.
	s.messages = append(s.messages, m)
	at := len(s.messages) - 1

	// A fault is for one webhook with all its repetitions.
	fault := s.faults.Take(Webhooks)
	s.background.Go(func() {
		// The pauses double, so that a receiver that restarts is not flooded.
		wait := s.config.WebhookEvery
		for range attempts {
			if s.send(at, fault.Mode, body) {
				s.log.Reach(stage.CalledBack, Webhooks, m.ItemID)
				return
			}

			if !s.log.Pause(wait) {
				return
			}

			wait *= 2
		}
	})
}

// send makes one attempt to send a webhook, signed anew, and reports whether it was accepted. The fault changes
// what is sent.
func (s *Server) send(at int, fault Mode, body map[string]any) bool {
	if fault == Foreign {
		body["item_id"] = randomID("item")
	}

	// What is signed here is the true body.
	content, err := json.Marshal(body)
	if err != nil {
		return false
	}

	proof, err := s.signWebhook(content, fault)
	if err != nil {
		return false
	}

	// After the signature, so that it does not fit the body any more.
	if fault == Tampered {
		content = append(bytes.TrimSuffix(content, []byte("}")), []byte(`,"tampered":true}`)...)
	}

	// The same bytes a second time, and the second answer counts.
	status := s.post(at, proof, content)
	if fault == Replayed {
		status = s.post(at, proof, content)
	}

	return status >= 200 && status < 300
}

// post sends a webhook once, records what was sent and the status of the answer, and returns it: 0 if no answer
// came.
func (s *Server) post(at int, proof string, content []byte) int {
	s.mu.Lock()
	to := s.messages[at].URL
	s.mu.Unlock()

	// The lock is not held while the receiver answers: it may call the sandbox meanwhile.
	status := s.deliver(to, proof, content)
	s.mu.Lock()
	defer s.mu.Unlock()

	m := &s.messages[at]
	m.Verification, m.Body, m.Status = proof, string(content), status
	m.Sent++

	return status
}

// deliver sends a webhook to an address and returns the status of the answer, or 0 if none came.
func (s *Server) deliver(to, proof string, content []byte) int {
	// The server's context, not a request's: Close ends the attempt.
	ctx, stop := context.WithTimeout(s.ctx, 10*time.Second)
	defer stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(content))
	if err != nil {
		return 0
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(verification, proof)

	answer, err := s.client.Do(req)
	if err != nil {
		return 0
	}

	_ = answer.Body.Close()

	return answer.StatusCode
}

// signWebhook signs a body as the vendor does, or with the flaw of the fault.
func (s *Server) signWebhook(content []byte, fault Mode) (string, error) {
	s.mu.Lock()
	key, at := s.keys[len(s.keys)-1], s.now()
	s.mu.Unlock()

	// Twice as old as receivers accept.
	if fault == Old {
		at = at.Add(-10 * time.Minute)
	}

	// Next, the faults that change the header or the key.
	algorithm, id, private := "ES256", key.id, key.private

	switch fault { //nolint:exhaustive // The other modes are not of the signature.
	case WrongAlgorithm:
		algorithm = "HS256"
	case Mislabeled:
		algorithm = "ES384"
	case Unsigned:
		algorithm = "none"
	case UnknownKey:
		id = randomID("key")
	case Forged:
		// A key that the sandbox has never shown, under the name of the true one.
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", fmt.Errorf("bank-feed sandbox: %w", err)
		}

		private = other
	}

	// The vendor signs the time and a hash of the body, and not the body itself.
	sum := sha256.Sum256(content)

	header := map[string]any{"alg": algorithm, "kid": id, "typ": "JWT"}
	if fault == Extended {
		// A receiver that does not know an extension in crit must refuse the message (RFC 7515).
		header["crit"], header["b64"] = []string{"b64"}, false
	}

	signed := part(header) + "." +
		part(map[string]any{"iat": at.Unix(), "request_body_sha256": hex.EncodeToString(sum[:])})

	// These two attack a receiver that believes the algorithm of the header: no signature at all, and the public
	// key as a shared secret.
	switch algorithm {
	case "none":
		return signed + ".", nil
	case "HS256":
		x, y := key.coordinates()
		mac := hmac.New(sha256.New, []byte(x+y))
		_, _ = mac.Write([]byte(signed)) // never fails

		return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
	}

	return sign(private, signed)
}

// sign returns the signed text with its ES256 signature: both numbers of it, 32 bytes each.
func sign(private *ecdsa.PrivateKey, signed string) (string, error) {
	hash := sha256.Sum256([]byte(signed))

	r, v, err := ecdsa.Sign(rand.Reader, private, hash[:])
	if err != nil {
		return "", fmt.Errorf("bank-feed sandbox: %w", err)
	}

	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	v.FillBytes(signature[32:])

	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// part encodes one part of the signed text: JSON in base64.
func part(value map[string]any) string {
	content, _ := json.Marshal(value) //nolint:errchkjson // Texts and integers always marshal.
	return base64.RawURLEncoding.EncodeToString(content)
}
