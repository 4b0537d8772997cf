package pay_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"stayledger/provider/pay"
)

const callbackSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var callbackAt = time.Unix(1_700_000_000, 0)

func callback(t testing.TB) (pay.Callback, pay.Signature, []byte) {
	t.Helper()

	c := pay.Callback{ID: "msg_1", Outcome: pay.Outcome{Key: "k1", Ref: "p1", State: pay.Returned, Code: "R03"}}

	s, body, err := pay.SignCallback(callbackSecret, c, callbackAt)
	if err != nil {
		t.Fatal(err)
	}

	return c, s, body
}

func TestSignedCallbacksAreBelieved(t *testing.T) {
	t.Parallel()

	c, s, body := callback(t)
	if want := `{"id":"msg_1","type":"payment.updated","data":{"key":"k1","id":"p1","state":"returned","code":"R03"}}`; string(body) != want {
		t.Errorf("body %s, want %s", body, want)
	}

	for _, now := range []time.Time{callbackAt, callbackAt.Add(pay.CallbackTolerance), callbackAt.Add(-pay.CallbackTolerance)} {
		if got, err := pay.VerifyCallback(callbackSecret, s, body, now); err != nil || got != c {
			t.Errorf("at %s: %+v, %v", now, got, err)
		}
	}

	s.Value = "v1a,xxx v1,bm90aGluZw== " + s.Value
	if _, err := pay.VerifyCallback(callbackSecret, s, body, callbackAt); err != nil {
		t.Errorf("one of several signatures: %v", err)
	}
}

// The signature is that of the Standard Webhooks specification, computed here from its text: base64 of HMAC-SHA256 over
// "id.timestamp.body".
func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	_, s, body := callback(t)

	key, err := base64.StdEncoding.DecodeString(callbackSecret[len("whsec_"):])
	if err != nil {
		t.Fatal(err)
	}

	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("msg_1.1700000000." + string(body)))

	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); s.Value != want || s.ID != "msg_1" || s.Timestamp != "1700000000" {
		t.Errorf("signature %+v, want %s", s, want)
	}
}

func TestOtherCallbacksAreNotBelieved(t *testing.T) {
	t.Parallel()
	_, good, body := callback(t)

	change := func(f func(*pay.Signature)) pay.Signature {
		s := good
		f(&s)

		return s
	}
	for name, c := range map[string]struct {
		secret string
		s      pay.Signature
		body   []byte
		now    time.Time
	}{
		"another secret":    {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx", good, body, callbackAt},
		"another body":      {callbackSecret, good, bytes.Replace(body, []byte("returned"), []byte("paid"), 1), callbackAt},
		"another id":        {callbackSecret, change(func(s *pay.Signature) { s.ID = "msg_2" }), body, callbackAt},
		"another time":      {callbackSecret, change(func(s *pay.Signature) { s.Timestamp = "1700000001" }), body, callbackAt},
		"too old":           {callbackSecret, good, body, callbackAt.Add(pay.CallbackTolerance + time.Second)},
		"from the future":   {callbackSecret, good, body, callbackAt.Add(-pay.CallbackTolerance - time.Second)},
		"no signature":      {callbackSecret, change(func(s *pay.Signature) { s.Value = "" }), body, callbackAt},
		"another algorithm": {callbackSecret, change(func(s *pay.Signature) { s.Value = "v2" + s.Value[2:] }), body, callbackAt},
		"no headers":        {callbackSecret, pay.Signature{}, body, callbackAt},
	} {
		if got, err := pay.VerifyCallback(c.secret, c.s, c.body, c.now); !errors.Is(err, pay.ErrCallback) || got != (pay.Callback{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}

	for _, secret := range []string{"", "short", "whsec_!!", "whsec_c2hvcnQ="} {
		var wrong *pay.SettingsError
		if _, err := pay.VerifyCallback(secret, good, body, callbackAt); !errors.As(err, &wrong) {
			t.Errorf("secret %q: %v", secret, err)
		}

		if _, _, err := pay.SignCallback(secret, pay.Callback{}, callbackAt); !errors.As(err, &wrong) {
			t.Errorf("secret %q signs: %v", secret, err)
		}
	}

	s, strange, err := pay.SignCallback(callbackSecret, pay.Callback{ID: "m", Outcome: pay.Outcome{Key: "k", Ref: "p", State: "flying"}}, callbackAt)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := pay.VerifyCallback(callbackSecret, s, strange, callbackAt); !errors.Is(err, pay.ErrCallback) {
		t.Errorf("an unknown state, well signed: %v", err)
	}
}

func FuzzVerifyCallback(f *testing.F) {
	_, s, body := callback(f)
	f.Add(s.ID, s.Timestamp, s.Value, body)
	f.Add("", "", "v1,", []byte("{}"))
	f.Add("a", "99999999999999999999", "v1,===", []byte("\x00"))
	f.Fuzz(func(t *testing.T, id, timestamp, value string, content []byte) {
		got, err := pay.VerifyCallback(callbackSecret, pay.Signature{ID: id, Timestamp: timestamp, Value: value}, content, callbackAt)
		if err == nil && (id != "msg_1" || !bytes.Equal(content, body)) {
			t.Errorf("believed %+v", got)
		}
		// What is well signed can still be anything: sign it and read it.
		key := hmac.New(sha256.New, mustDecode(callbackSecret[len("whsec_"):]))
		key.Write([]byte(id + ".1700000000."))
		key.Write(content)
		signed := pay.Signature{ID: id, Timestamp: "1700000000", Value: "v1," + base64.StdEncoding.EncodeToString(key.Sum(nil))}

		got, err = pay.VerifyCallback(callbackSecret, signed, content, callbackAt)
		if err == nil && (got.Outcome.Key == "" || got.Outcome.Ref == "" || got.ID != id || len(got.Outcome.Code) > 40) {
			t.Errorf("believed %+v", got)
		}
	})
}

func mustDecode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}

	return b
}
