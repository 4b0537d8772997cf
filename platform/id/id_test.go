package id_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/platform/id"
)

func Example() {
	v, _ := id.Parse("01890a5d-ac96-774b-bcce-b302099a8057")
	fmt.Println(v.TypeID("op"), v.Time().Format(time.RFC3339), v.ShortRef())
	// Output: op_01h455vb4pex5vsknk084sn02q 2023-06-30T03:34:18Z 084sn02q
}

func TestTypedRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var v id.ID
		copy(v[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))

		back, err := id.ParseTyped("act", v.TypeID("act"))
		if err != nil || back != v {
			t.Fatalf("round trip of %s: %s, %v", v, back, err)
		}

		plain, err := id.Parse(v.String())
		if err != nil || plain != v {
			t.Fatalf("round trip of %s: %s, %v", v, plain, err)
		}
	})
}

func TestMalformed(t *testing.T) {
	t.Parallel()

	for _, s := range []string{
		"", "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057", "{01890a5d-ac96-774b-bcce-b302099a8057}",
		"01890a5dac96774bbcceb302099a8057", "01890a5d-ac96-774b-bcce-b302099a805g", "01890a5d-ac96-774b-bcce-b302099a8057 ",
	} {
		if _, err := id.Parse(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}

	for _, s := range []string{"op_", "act_01h455vb4pex5vsknk084sn02q", "op_81h455vb4pex5vsknk084sn02q", "op_01h455vb4pex5vsknk084sn02u"} {
		if _, err := id.ParseTyped("op", s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestOrderFollowsTime(t *testing.T) {
	t.Parallel()

	at := time.UnixMilli(1_700_000_000_000).UTC()

	a, b := id.New(at), id.New(at.Add(time.Millisecond))
	if a.Compare(b) >= 0 || !a.Time().Equal(at) || id.First(at).Compare(a) > 0 {
		t.Errorf("order broken: %s %s", a, b)
	}

	first, again := id.Derive(at, "x", "y"), id.Derive(at, "x", "y")
	if first != again || first == id.Derive(at, "xy") || first.ShortRef() == id.Derive(at.Add(time.Hour), "x", "y").ShortRef() {
		t.Error("a derived id must depend on its instant and its names, and on nothing else")
	}
}
