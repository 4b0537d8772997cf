package access_test

import (
	"slices"
	"strings"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// A key with one scope passes the route that asks for it and no other: write, read, manage and the rest imply nothing.
// Proves: AUTH-17, AUTH-18, AUTH-19, AUTH-20, AUTH-21, AUTH-22, AUTH-23, AUTH-49, ERR-04, ERR-28, OPEN-65.
func TestScopesImplyNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.team("us", id.Zero)

	all := access.Scopes()
	for _, named := range []string{
		"operations:read", "statements:read", "webhooks:manage", "pm-statements:read", "pm-statements:export", "tax-rates:read",
		"transactions:mark-paid", "contacts:write", "contacts:vendors:write", "transactions:write", "transactions:delete", "transactions:pay",
		"statements:publish", "bank:execute", "transactions:import", "journals:post",
	} {
		if !slices.Contains(all, named) {
			t.Errorf("%s cannot be held", named)
		}
	}

	for _, held := range all {
		key := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{held}}).Secret
		for _, asked := range all {
			a := w.call("POST", "/needs/"+strings.ReplaceAll(asked, ":", "/"), key)
			if held == asked {
				a.want(204)
			} else if a.refused(apierr.CodeForbidden, "Credential lacks a required scope").context() != `{"requiredScopes":["`+asked+`"]}` {
				t.Fatalf("%s: %s", asked, a.body)
			}
		}
	}

	writer := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"transactions:write"}}).Secret
	w.call("POST", "/toys", writer).want(200)
	w.call("DELETE", "/toys", writer).refused(apierr.CodeForbidden, "")
}

// Proves: AUTH-17, OPEN-65.
func TestEveryRequiredScopeMustBeHeldAndAlternativesCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	one := w.team("us", id.Zero)
	for scopes, status := range map[string]int{
		"contacts:read contacts:write": 200, "contacts:read contacts:vendors:write": 200, "contacts:write contacts:vendors:write": 403,
		"contacts:read": 403, "contacts:read contacts:delete": 403,
	} {
		key := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: strings.Fields(scopes)}).Secret

		a := w.get("/toys/either", key).want(status)
		if status == 403 && a.context() != `{"requiredScopes":["contacts:write|contacts:vendors:write","contacts:read"]}` {
			t.Errorf("%s: %s", scopes, a.body)
		}
	}
}

// TestBundlesNameScopes shows the shortest names of sets of scopes, from which each set can be issued again.
func TestBundlesNameScopes(t *testing.T) {
	t.Parallel()

	for _, names := range []string{
		"admin", "setup", "payments", "statements", "bookkeeping", "reporting", "statements bookkeeping", "setup payments webhooks:manage",
		"journals:post team:write", "reporting contacts:delete", "",
	} {
		scopes, _ := access.Expand(strings.Fields(names))
		bundles, rest := access.Bundles(scopes)

		var got []string
		for _, b := range bundles {
			got = append(got, string(b))
		}

		// A scope that one of the bundles has is not named again.
		if got = append(got, rest...); !slices.Equal(got, strings.Fields(strings.TrimSuffix(names, " webhooks:manage"))) {
			t.Errorf("%s: %v", names, got)
		}
	}

	// One scope less is no bundle.
	if bundles, _ := access.Bundles(access.Scopes()[1:]); slices.Contains(bundles, access.Admin) {
		t.Errorf("a key without one of the scopes has %v", bundles)
	}
}

// Proves: AUTH-15, OPEN-17.
func TestBundles(t *testing.T) {
	t.Parallel()

	reporting := access.Reporting.Scopes()
	for _, s := range access.Scopes() {
		action := s[strings.LastIndexByte(s, ':')+1:]
		if slices.Contains(reporting, s) != (action == "read" || action == "export") {
			t.Errorf("reporting: %s", s)
		}
	}

	for bundle, c := range map[access.Bundle]struct{ with, without string }{
		access.Bookkeeping: {
			"contacts:write transactions:write bank:write reservations:write journals:post",
			"contacts:delete transactions:pay transactions:mark-paid statements:write team:write listings:write transactions:import",
		},
		access.Statements: {"statements:write statements:publish", "statements:delete statements:pay transactions:write statements:import"},
		access.Payments:   {"statements:pay transactions:pay transactions:mark-paid", "transactions:write statements:publish"},
		access.Setup: {
			"team:write listings:write accounts:write recurring-fees:write layouts:write connections:write webhooks:manage contacts:import csv-imports:import",
			"transactions:write accounts:delete team:delete access:manage partner:manage",
		},
		access.Admin: {strings.Join(access.Scopes(), " "), ""},
	} {
		granted, unknown := access.Expand([]string{string(bundle)})
		if len(unknown) > 0 || !slices.IsSorted(granted) {
			t.Errorf("%s: %v, unknown %v", bundle, granted, unknown)
		}

		for _, s := range append(strings.Fields(c.with), reporting...) {
			if !slices.Contains(granted, s) {
				t.Errorf("%s lacks %s", bundle, s)
			}
		}

		for s := range strings.FieldsSeq(c.without) {
			if slices.Contains(granted, s) || !slices.Contains(access.Scopes(), s) {
				t.Errorf("%s holds %s", bundle, s)
			}
		}
	}

	if len(access.Bundle("").Enum()) != 6 || access.Bundle("everything").Scopes() != nil {
		t.Error("bundles")
	}

	granted, unknown := access.Expand([]string{"journals:post", "nonsense", "journals:post", "team:own"})
	if !slices.Equal(granted, []string{"journals:post"}) || !slices.Equal(unknown, []string{"nonsense", "team:own"}) {
		t.Errorf("expanded to %v, unknown %v", granted, unknown)
	}

	w := newWorld(t)
	key := w.issue(access.NewKey{Teams: []id.ID{w.partner("us")}, Partner: true, Scopes: []string{"reporting"}}).Secret
	w.call("POST", "/toys/operations", key).want(202)
	w.call("POST", "/toys", key, "x-team-id", w.unreached()).refused(apierr.CodeForbidden, "Credential lacks a required scope")
}
