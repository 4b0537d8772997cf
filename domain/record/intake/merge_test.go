package intake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/record/intake"
)

var stays = &intake.Kind{
	Lists:    map[string]intake.List{"lines": {Key: "type", Label: "description", Amount: "amount", Unit: "currency"}},
	Together: [][]string{{"from", "to"}},
}

// values decodes the values of a record.
func values(t *testing.T, text string) intake.Values {
	t.Helper()

	var out intake.Values
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// Of what was taken over last, what is here and what comes in, follows what to write and what to ask.
func TestMerge(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ what, taken, here, incoming, writes, conflicts string }{
		{"the source changes a field", `{"a":1}`, `{"a":1}`, `{"a":2}`, `{"a":2}`, ""},
		{"nothing changes", `{"a":1}`, `{"a":1}`, `{"a":1}`, `{}`, ""},
		{"a person changes a field", `{"a":1}`, `{"a":7}`, `{"a":1}`, `{}`, ""},
		{"both change it", `{"a":1}`, `{"a":7}`, `{"a":2}`, `{}`, "a 7 2"},
		{"both change it to the same", `{"a":1}`, `{"a":2}`, `{"a":2}`, `{}`, ""},
		{"a person clears it", `{"a":1}`, `{"a":null}`, `{"a":1}`, `{}`, ""},
		{"the source clears it", `{"a":1}`, `{"a":1}`, `{"a":null}`, `{"a":null}`, ""},
		{"the source says nothing of it", `{"a":1}`, `{"a":1}`, `{}`, `{}`, ""},
		{"a match that has nothing", `{}`, `{"a":null}`, `{"a":1}`, `{"a":1}`, ""},
		{"a match that differs", `{}`, `{"a":7}`, `{"a":1}`, `{}`, "a 7 1"},
		{"forms of a number and an object", `{"a":{"x":1,"y":null}}`, `{"a":{"y":null,"x":1}}`, `{"a":{"x":1}}`, `{}`, ""},
		{
			"the source changes an amount", `{"lines":[{"type":"rent","amount":1}]}`, `{"lines":[{"type":"rent","amount":1}]}`,
			`{"lines":[{"type":"rent","amount":2}]}`, `{"lines":[{"amount":2,"type":"rent"}]}`, "",
		},
		{
			"a person adds a line and gives another an account", `{"lines":[{"type":"rent","amount":1}]}`,
			`{"lines":[{"type":"rent","amount":1,"accountId":"x"},{"type":"pet","amount":5}]}`, `{"lines":[{"type":"rent","amount":2}]}`,
			`{"lines":[{"accountId":"x","amount":2,"type":"rent"},{"amount":5,"type":"pet"}]}`, "",
		},
		{
			"the source drops a line", `{"lines":[{"type":"rent","amount":1},{"type":"tax","amount":3}]}`,
			`{"lines":[{"type":"rent","amount":1},{"type":"tax","amount":3}]}`, `{"lines":[{"type":"rent","amount":1}]}`,
			`{"lines":[{"amount":1,"type":"rent"}]}`, "",
		},
		{
			"the source drops a line that a person has edited", `{"lines":[{"type":"rent","amount":1}]}`, `{"lines":[{"type":"rent","amount":9}]}`,
			`{"lines":[]}`, `{}`, "lines[rent] true null",
		},
		{
			"a person has deleted a line", `{"lines":[{"type":"rent","amount":1},{"type":"tax","amount":3}]}`, `{"lines":[{"type":"rent","amount":1}]}`,
			`{"lines":[{"type":"rent","amount":1},{"type":"tax","amount":3}]}`, `{}`, "",
		},
		{
			"equal lines are told apart by their order", `{"lines":[{"type":"fee","amount":1},{"type":"fee","amount":2}]}`,
			`{"lines":[{"type":"fee","amount":1},{"type":"fee","amount":2}]}`, `{"lines":[{"type":"fee","amount":1},{"type":"fee","amount":4}]}`,
			`{"lines":[{"amount":1,"type":"fee"},{"amount":4,"type":"fee"}]}`, "",
		},
		{
			"a line that is here already in other words", `{}`, `{"lines":[{"type":"rent","amount":300}]}`,
			`{"lines":[{"type":"rent","description":"Rent","amount":300}]}`, `{"lines":[{"amount":300,"description":"Rent","type":"rent"}]}`, "",
		},
		{
			"a line that is here already with another amount", `{}`, `{"lines":[{"type":"rent","amount":350}]}`,
			`{"lines":[{"type":"rent","description":"Rent","amount":300}]}`, `{"lines":[{"amount":350,"description":"Rent","type":"rent"}]}`,
			"lines[rent|Rent].amount 350 300",
		},
		{
			"lines of one type are paired by their amounts, whatever they are called", `{}`,
			`{"lines":[{"type":"tax","description":"city","amount":2},{"type":"tax","description":"state","amount":7},{"type":"pet","amount":5}]}`,
			`{"lines":[{"type":"tax","description":"state","amount":2},{"type":"tax","description":"city","amount":7}]}`,
			`{"lines":[{"amount":2,"description":"state","type":"tax"},{"amount":7,"description":"city","type":"tax"},{"amount":5,"type":"pet"}]}`, "",
		},
		{
			"more lines of a type come than are here", `{}`, `{"lines":[{"type":"discount","amount":-5}]}`,
			`{"lines":[{"type":"discount","description":"week","amount":-9},{"type":"discount","description":"early","amount":-5}]}`,
			`{"lines":[{"amount":-9,"description":"week","type":"discount"},{"amount":-5,"description":"early","type":"discount"}]}`, "",
		},
		{
			"edited here and reworded there", `{"lines":[{"type":"rent","description":"3 nights","amount":450}]}`,
			`{"lines":[{"type":"rent","description":"3 nights","amount":400}]}`, `{"lines":[{"type":"rent","description":"4 nights","amount":600}]}`,
			`{"lines":[{"amount":400,"description":"4 nights","type":"rent"}]}`, "lines[rent|4 nights].amount 400 600",
		},
		{
			"reworded on both sides", `{"lines":[{"type":"rent","description":"3 nights","amount":450}]}`,
			`{"lines":[{"type":"rent","description":"Stay","amount":450}]}`, `{"lines":[{"type":"rent","description":"4 nights","amount":600}]}`,
			`{"lines":[{"amount":600,"description":"Stay","type":"rent"}]}`, "",
		},
		{
			"the source drops one of two equal lines", `{"lines":[{"type":"fee","amount":1},{"type":"fee","amount":2}]}`,
			`{"lines":[{"type":"fee","amount":1},{"type":"fee","amount":2}]}`, `{"lines":[{"type":"fee","amount":2}]}`, `{"lines":[{"amount":2,"type":"fee"}]}`, "",
		},
		{
			"a person enters what the source says later", `{"lines":[{"type":"rent","amount":1}]}`,
			`{"lines":[{"type":"rent","amount":1},{"type":"cleaning","description":"mine","amount":9}]}`,
			`{"lines":[{"type":"rent","amount":1},{"type":"cleaning","amount":9}]}`, `{}`, "",
		},
		{"one moves the arrival, the other the departure", `{"from":1,"to":5}`, `{"from":2,"to":5}`, `{"from":1,"to":9}`, `{}`, `from,to {"from":2,"to":5} {"from":1,"to":9}`},
		{"the source moves one day", `{"from":1,"to":5}`, `{"from":1,"to":5}`, `{"from":1,"to":9}`, `{"from":1,"to":9}`, ""},
		{"the source says one day", `{"from":1,"to":5}`, `{"from":1,"to":5}`, `{"to":9}`, `{"from":1,"to":9}`, ""},
		{"a text in other capitals", `{}`, `{"a":"hmabc1"}`, `{"a":"HMABC1"}`, `{"a":"HMABC1"}`, ""},
		{
			"another currency for lines that nobody changed", `{"currency":"usd","lines":[{"type":"rent","amount":1}]}`, `{"currency":"usd","lines":[{"type":"rent","amount":1}]}`,
			`{"currency":"eur","lines":[{"type":"rent","amount":2}]}`, `{"currency":"eur","lines":[{"amount":2,"type":"rent"}]}`, "",
		},
		{
			"another currency for a line that a person has changed", `{"currency":"usd","lines":[{"type":"rent","amount":1}]}`, `{"currency":"usd","lines":[{"type":"rent","amount":7}]}`,
			`{"currency":"eur","lines":[{"type":"rent","amount":2}]}`, `{}`,
			`currency,lines {"currency":"usd","lines":[{"amount":7,"type":"rent"}]} {"currency":"eur","lines":[{"amount":2,"type":"rent"}]}`,
		},
		{
			"both change an amount, and the source another line", `{"lines":[{"type":"rent","amount":1},{"type":"tax","amount":3}]}`,
			`{"lines":[{"type":"rent","amount":7},{"type":"tax","amount":3}]}`, `{"lines":[{"type":"rent","amount":2},{"type":"tax","amount":4}]}`,
			`{"lines":[{"amount":7,"type":"rent"},{"amount":4,"type":"tax"}]}`, "lines[rent].amount 7 2",
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()

			fields, conflicts, err := intake.Merge(stays, values(t, c.taken), values(t, c.here), values(t, c.incoming))
			if err != nil {
				t.Fatal(err)
			}

			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}

			var asked []string
			for _, x := range conflicts {
				asked = append(asked, fmt.Sprintf("%s %s %s", x.Field, x.Here, x.Incoming))
			}

			if string(text) != c.writes || strings.Join(asked, ", ") != c.conflicts {
				t.Errorf("writes %s and asks %q, want %s and %q", text, asked, c.writes, c.conflicts)
			}
		})
	}
}

func TestMergeRefusesWhatIsNoList(t *testing.T) {
	t.Parallel()

	for _, text := range []string{`{"lines":7}`, `{"lines":[1]}`, `{"lines":"x"}`} {
		if _, _, err := intake.Merge(stays, nil, intake.Values{}, values(t, text)); err == nil {
			t.Errorf("%s was merged", text)
		}

		// A new record is not compared with anything.
		if intake.CheckLists(stays, values(t, text)) == nil {
			t.Errorf("%s was taken", text)
		}
	}

	for _, text := range []string{`{}`, `{"lines":[]}`, `{"lines":[{"type":"rent","amount":1}]}`, `{"name":[1]}`} {
		if err := intake.CheckLists(stays, values(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Content is equal in whatever form it is written, and different when anything of it is.
func TestHashesAreOfContent(t *testing.T) {
	t.Parallel()

	hash := func(text string, refs map[string]intake.Reference) []byte {
		sum, err := intake.HashOf(&intake.Change{Values: values(t, text), Refs: refs})
		if err != nil {
			t.Fatal(err)
		}

		return sum
	}

	same := hash(`{"a":1,"b":{"x":[1,2]}}`, nil)
	if !bytes.Equal(same, hash(` { "b" : {"x":[1,2]}, "a":1 } `, nil)) {
		t.Error("the hash depends on the form")
	}

	for _, other := range [][]byte{
		hash(`{"a":2,"b":{"x":[1,2]}}`, nil), hash(`{"a":1,"b":{"x":[2,1]}}`, nil), hash(`{"a":1}`, nil), hash(`{"a":"1","b":{"x":[1,2]}}`, nil),
		hash(`{"a":1,"b":{"x":[1,2]}}`, map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "7"}}),
	} {
		if bytes.Equal(same, other) {
			t.Error("other content has the same hash")
		}
	}
}

// Texts that cannot be stored have no hash, wherever they are; a backslash before letters is no NUL.
func TestTextsThatCannotBeStoredHaveNoHash(t *testing.T) {
	t.Parallel()

	for _, c := range []intake.Change{
		{Values: intake.Values{"a": []byte(`"\u0000"`)}},
		{Values: intake.Values{"a": []byte(`{"b":["\\\u0000"]}`)}},
		{Values: intake.Values{"a": []byte("\"\xff\"")}},
		{Values: intake.Values{"a\x00": []byte(`1`)}},
		{Values: intake.Values{"a": []byte(`{`)}},
		{Refs: map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "7\x00"}}},
		{Refs: map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "\xff"}}},
	} {
		if _, err := intake.HashOf(&c); err == nil {
			t.Errorf("%q can be stored", c.Values)
		}
	}

	if _, err := intake.HashOf(&intake.Change{Values: intake.Values{"a": []byte(`"\\u0000"`), "b": nil}}); err != nil {
		t.Error(err)
	}
}

// White space and order make no difference for values of one form either, and other values are others.
func TestPlainValuesAreHashedAsOthers(t *testing.T) {
	t.Parallel()

	hash := func(value string) string {
		sum, err := intake.HashOf(&intake.Change{Values: intake.Values{"a": []byte(value)}})
		if err != nil {
			t.Fatal(err)
		}

		return string(sum)
	}

	for _, plain := range []string{`"text, plain"`, `""`, `12`, `7`} {
		if hash(plain) != hash(" "+plain+"\n") {
			t.Errorf("the hash of %s depends on the form", plain)
		}
	}

	if hash(`"12"`) == hash(`12`) || hash(`"1"`) == hash(`"2"`) {
		t.Error("other content has the same hash")
	}

	for _, broken := range []string{`"`, `"a"b"`, `"\"`, `01`, `1 2`, `"a`} {
		if _, err := intake.HashOf(&intake.Change{Values: intake.Values{"a": []byte(broken)}}); err == nil {
			t.Errorf("%s has a hash", broken)
		}
	}
}
