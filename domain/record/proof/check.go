package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Proof has everything that Check needs to prove, without the database, that an event is in the log.
type Proof struct {
	Event       ProvenEvent `json:"event" doc:"The revision as it is stored."`
	Seq         int64       `json:"seq" doc:"The place of the event in the log, from 0."`
	TreeSize    int64       `json:"treeSize" doc:"How many events the log of the checkpoint has."`
	Inclusion   []string    `json:"inclusion" doc:"Hashes in base64 that lead from the leaf to the root."`
	Checkpoint  string      `json:"checkpoint" doc:"A signed note of the log: its name, its size and its root."`
	VerifierKey string      `json:"verifierKey" doc:"The key that verifies the checkpoint. Compare it with the one that the operator has published."`
}

// ErrProof says that a proof does not prove its event.
var ErrProof = errors.New("the proof does not hold")

// Encode returns the text of a proof as the API serves it.
func (p *Proof) Encode() ([]byte, error) {
	var out bytes.Buffer

	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)

	err := encoder.Encode(p)

	return out.Bytes(), err
}

// Check proves that the event of a proof is in the log of its checkpoint. The proof must be as it was served, but for
// white space around it. The checkpoint must be signed by the verifier key; if that is empty, by the one that the proof
// names, and it is for the caller to trust that. It fails with ErrProof.
func Check(text []byte, verifier string) (*Proof, error) {
	p := &Proof{}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProof, err)
	}

	// One text for one proof, so that nothing in it escapes the check.
	if err := p.Event.normalize(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProof, err)
	}

	if again, err := p.Encode(); err != nil || !bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(again)) {
		return nil, fmt.Errorf("%w: it is not written as it was served", ErrProof)
	}

	if v, err := note.NewVerifier(p.VerifierKey); err != nil || !strings.HasPrefix(p.VerifierKey, fmt.Sprintf("%s+%08x+", v.Name(), v.KeyHash())) {
		return nil, fmt.Errorf("%w: verifier key", ErrProof)
	}

	if verifier != "" && verifier != p.VerifierKey {
		return nil, fmt.Errorf("%w: it is for another key, %s", ErrProof, p.VerifierKey)
	}

	return p, p.check()
}

// check proves the event: the checkpoint is signed, and the leaf is in its tree.
func (p *Proof) check() error {
	t, err := openCheckpoint(p.Checkpoint, p.VerifierKey)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}

	if t.N != p.TreeSize {
		return fmt.Errorf("%w: the checkpoint is of another size", ErrProof)
	}

	leaf, err := p.Event.hash()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}

	hashes := make(tlog.RecordProof, len(p.Inclusion))
	for i, text := range p.Inclusion {
		if hashes[i], err = tlog.ParseHash(text); err != nil || hashes[i].String() != text {
			return fmt.Errorf("%w: hash %d", ErrProof, i)
		}
	}

	if err := tlog.CheckRecord(hashes, t.N, t.Hash, p.Seq, leaf); err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}

	return nil
}

// normalize writes the JSON of an event in the one way in which proofs have it: members sorted, no white space.
func (p *ProvenEvent) normalize() error {
	values := []*json.RawMessage{&p.References}

	add := func(all ...*Value) {
		for _, v := range all {
			if v != nil && v.Value != nil {
				values = append(values, &v.Value)
			}
		}
	}

	add(p.EntityName, p.Journal)

	for i := range p.Changes {
		add(p.Changes[i].Old, p.Changes[i].New)
	}

	for _, value := range values {
		var v any

		decoder := json.NewDecoder(bytes.NewReader(*value))
		decoder.UseNumber()

		if err := decoder.Decode(&v); err != nil {
			return fmt.Errorf("%w: %w", errMalformed, err)
		}

		var out bytes.Buffer

		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)

		if err := encoder.Encode(v); err != nil {
			return fmt.Errorf("encode a value: %w", err)
		}

		*value = bytes.TrimSpace(out.Bytes())
	}

	return nil
}
