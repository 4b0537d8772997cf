package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// TestTheGuideOfBankAccounts pastes the guide into a shell, for a team whose two deposits are the payout that the guide
// brings as a bank record.
func TestTheGuideOfBankAccounts(t *testing.T) {
	t.Parallel()

	database := emptyDatabase(t)
	base := start(t, database, t.TempDir(), "serve").base
	team := command(t, database, "team", "create", "Bankers", "--start", "2026-01-01")
	c := &client{t: t, base: base, key: command(t, database, "key", "issue", "--team", team)}

	c.settled(c.post("/team/init", object{"template": "standard"}).want(202).text("operationId"))

	account := func(code string) string { return c.get("/accounts?codes=" + code).want(200).text("data.0.id") }

	var deposits [2]string
	for i, cents := range []int{100_000, 24_500} {
		deposits[i] = c.post("/transactions", object{
			"type": "deposit", "date": "2026-02-02", "lines": []any{object{"accountId": account("4000"), "amount": cents, "party": "manager"}},
		}).want(201).text("id")
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	shell := exec.CommandContext(ctx, "sh", "-euc", guideScript(t, "bank-accounts"))

	shell.Env = append(os.Environ(), withBinary(), "STAYLEDGER_BASE_URL="+base, "STAYLEDGER_API_KEY="+c.key,
		"BANK="+account("1000"), "ONE="+deposits[0], "OTHER="+deposits[1])

	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("the guide: %v\n%s", err, out)
	}

	if got := c.get("/bank-records?reconcileStatus=paid").want(200); got.text("pagination.total") != "1" || got.text("data.0.amount") != "124500" {
		t.Errorf("reconciled bank records: %s", got.body)
	}

	// It was detached again, and the past stays as it is.
	if got := c.get("/account-connections?accountIds=null").want(200).text("data.0.lastDigits"); got != "4321" {
		t.Errorf("the account that is attached to nothing ends in %s", got)
	}
}
