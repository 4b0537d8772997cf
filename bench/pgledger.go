package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pgledgerName = "pgledger"
	// What a posting of ours is to reach of the transfers a second.
	pgledgerGoal = 0.35
	pgledgerTurn = time.Second
)

// pgledgerAccounts are the numbers of accounts between which transfers are made: so many that few of them meet, and so
// few that most of them wait for each other.
var pgledgerAccounts = []int{1000, 10}

// comparePgledger compares the journals, expenses and stays that the service takes a second with the transfers that
// pgledger makes in the same PostgreSQL. A transfer is one statement of plain pgx: no HTTP, no key, no tenant, no trail.
func (d *dailyBed) comparePgledger(ctx context.Context) (metrics []Metric, err error) {
	theirs, err := d.openPgledger(ctx)
	if err != nil {
		return nil, err
	}
	defer theirs.pool.Close()

	k := d.desks[len(d.desks)-1]
	posts := k.writesAtService()

	for _, clients := range []int{1, 8, mostWriters} {
		rates := map[string][]float64{}

		// All sides take turns, so that a busy moment of the machine meets all.
		for range dailyRounds {
			for _, accounts := range pgledgerAccounts {
				perSecond, err := theirs.transfer(ctx, clients, accounts)
				if err != nil {
					return nil, err
				}

				rates[transfersOver(accounts)] = append(rates[transfersOver(accounts)], perSecond)
			}

			for _, p := range pgledgerPosts {
				m, err := d.post(ctx, k, clients, p.request(k, posts))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.name, err)
				}

				rates[p.name] = append(rates[p.name], m)
			}
		}

		for _, p := range pgledgerPosts {
			for _, accounts := range pgledgerAccounts {
				metrics = append(metrics, comparePosts(p.name, clients, accounts, rates))
			}
		}
	}

	return metrics, nil
}

// pgledgerPosts are the postings of ours that are compared.
var pgledgerPosts = []struct {
	name    string
	request func(k *desk, posts map[string]request) request
}{
	{"journal", func(k *desk, _ map[string]request) request { return k.postJournal }},
	{"expense", func(_ *desk, posts map[string]request) request { return posts["transaction_post"] }},
	{"stay", func(_ *desk, posts map[string]request) request { return posts["reservation_post"] }},
}

// transfersOver returns the name of the transfers between so many accounts.
func transfersOver(accounts int) string { return fmt.Sprintf("transfersOver%d", accounts) }

// comparePosts returns the ratio of a posting to the transfers between so many accounts: the median of the rounds.
// Metrics over the fewer accounts say so in their names.
func comparePosts(name string, clients, accounts int, rates map[string][]float64) Metric {
	ours, theirs := rates[name], rates[transfersOver(accounts)]

	ratios := make([]float64, len(ours))
	for i := range ratios {
		ratios[i] = ours[i] / theirs[i]
	}

	over := ""
	if accounts != pgledgerAccounts[0] {
		over = fmt.Sprintf("_over_%d", accounts)
	}

	return atLeast(fmt.Sprintf("pgledger_%s_%d%s_ratio", name, clients, over), median(ratios), pgledgerGoal, map[string]any{
		"rounds":             ratios,
		"postsPerSecond":     median(ours),
		"transfersPerSecond": median(theirs),
		"clients":            clients,
		"accounts":           accounts,
	})
}

// post returns how many requests of a kind clients get answered a second. It fails if one is refused.
func (d *dailyBed) post(ctx context.Context, k *desk, clients int, r request) (float64, error) {
	l, err := newLoad(ctx, clients, d.ours, k.team.secret, r)
	if err != nil {
		return 0, err
	}
	defer l.close()

	m, err := l.run(ctx, pgledgerTurn)
	if err == nil && m.failed > 0 {
		err = fmt.Errorf("%d requests failed: %s", m.failed, m.failure)
	}

	return m.perSecond, err
}

// pgledgerBed is pgledger in the database of the bed.
type pgledgerBed struct {
	pool *pgxpool.Pool
	// accounts are the ids of its accounts, by their number.
	accounts map[int][]string
}

// openPgledger loads the SQL files of pgledger and makes its accounts.
func (d *dailyBed) openPgledger(ctx context.Context) (*pgledgerBed, error) {
	for file := range strings.SplitSeq(d.options.pgledger, ",") {
		text, err := os.ReadFile(file) //nolint:gosec // The developer names the file.
		if err != nil {
			return nil, fmt.Errorf("read pgledger: %w", err)
		}

		if err := d.asSuperuser(ctx, d.database, string(text)); err != nil {
			return nil, fmt.Errorf("load %s: %w", file, err)
		}
	}

	config, err := pgxpool.ParseConfig(d.url(superuser))
	if err != nil {
		return nil, fmt.Errorf("pool of pgledger: %w", err)
	}

	config.MaxConns = connections

	p := &pgledgerBed{accounts: map[int][]string{}}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("pool of pgledger: %w", err)
	}

	for _, n := range pgledgerAccounts {
		rows, err := p.pool.Query(ctx, `select a.id from generate_series(1, $1) n
			cross join lateral pgledger_create_account(concat('of ', $1::int, ': ', n), 'USD') a`, n)
		if err == nil {
			p.accounts[n], err = pgx.CollectRows(rows, pgx.RowTo[string])
		}

		if err != nil {
			p.pool.Close()
			return nil, fmt.Errorf("accounts of pgledger: %w", err)
		}
	}

	return p, nil
}

// transfer returns how many transfers a second clients make between two random ones of so many accounts.
func (p *pgledgerBed) transfer(ctx context.Context, clients, accounts int) (float64, error) {
	var made atomic.Int64

	ids, begin := p.accounts[accounts], time.Now()

	err := each(clients, func(int) error {
		for time.Since(begin) < pgledgerTurn {
			// The second one is another than the first.
			from := rand.IntN(accounts)                         //nolint:gosec // any two accounts do
			to := (from + 1 + rand.IntN(accounts-1)) % accounts //nolint:gosec // as above

			if _, err := p.pool.Exec(ctx, "select id from pgledger_create_transfer($1, $2, $3)", ids[from], ids[to], 1); err != nil {
				return fmt.Errorf("a transfer: %w", err)
			}

			made.Add(1)
		}

		return nil
	})

	return float64(made.Load()) / time.Since(begin).Seconds(), err
}
