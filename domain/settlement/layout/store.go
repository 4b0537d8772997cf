package layout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

// layoutTable has the columns of a layout.
var layoutTable = db.NewTable[Layout]("layout", `
	id uuid key, name text, version int, summary_type text, is_default boolean, show_team_email boolean, net_revenue_sections jsonb,
	other_sections jsonb, created_at timestamptz fixed, updated_at timestamptz`)

var (
	designColumns = layoutTable.ColumnsSQL("y")
	layoutColumns = designColumns + `, coalesce((select jsonb_agg(` + listing.NameRefSQL("l") + ` order by ` + page.TextSQL("l.name") + `, l.id)
		from layout_listing u join listing l on l.team_id = u.team_id and l.id = u.listing_id
		where u.team_id = y.team_id and u.layout_id = y.id), '[]') as active_listings`
)

// layoutQuery returns the list of the team's layouts.
func layoutQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: layoutColumns, From: "layout y", Where: []string{"y.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "name", ID: "y.id",
	}
}

var sorts = page.Sorts{
	{Name: "name", Expr: "y.name", Text: true},
	{Name: "createdAt", Expr: "y.created_at"},
	{Name: "updatedAt", Expr: "y.updated_at"},
}

// loadOne loads a layout. It fails with apierr.NotFound.
func loadOne(ctx context.Context, tx *db.Tx, layoutID id.ID) (*Layout, error) {
	found, err := db.One[Layout](ctx, tx, apierr.NotFound, `select `+layoutColumns+` from layout y where y.team_id = @team and y.id = @id`,
		db.Args{"team": tx.Team, "id": layoutID})
	if err != nil {
		return nil, fmt.Errorf("read statement layout: %w", err)
	}

	all := []Layout{found}

	return &all[0], setCurrentNames(ctx, tx, tx.Team, all)
}

// setCurrentNames sets the present names in layouts, and the accounts that they name.
func setCurrentNames(ctx context.Context, tx *db.Tx, team id.ID, layouts []Layout) error {
	var ids []id.ID

	for i := range layouts {
		for _, s := range layouts[i].all() {
			ids = append(ids, s.linkedAccounts()...)
		}
	}

	// The accounts of all layouts in one query.
	accounts, err := loadAccounts(ctx, tx, team, ids, nil)
	if err != nil {
		return err
	}

	for i := range layouts {
		layouts[i].setAccounts(accounts)
	}

	return nil
}

// setAccounts sets the present names, the named accounts and the system sections of a layout.
func (l *Layout) setAccounts(accounts map[id.ID]account.Ref) {
	l.SystemSections, l.LinkedAccounts = systemSections(), []account.Ref{}
	for _, s := range l.all() {
		s.useCurrentNames(accounts)

		for _, v := range s.linkedAccounts() {
			a, exists := accounts[v]
			if exists && !slices.ContainsFunc(l.LinkedAccounts, func(o account.Ref) bool { return o.ID == v }) {
				l.LinkedAccounts = append(l.LinkedAccounts, a)
			}
		}
	}

	slices.SortFunc(l.LinkedAccounts, byCode)
}

// loadAccounts loads accounts by id, and by code or name.
func loadAccounts(
	ctx context.Context,
	tx *db.Tx,
	team id.ID,
	ids []id.ID,
	names []string,
) (map[id.ID]account.Ref, error) {
	out := map[id.ID]account.Ref{}
	if len(ids)+len(names) == 0 {
		return out, nil
	}

	rows, err := db.Select[account.Ref](ctx, tx, `select id, code, name from account
		where team_id = @team and (id = any(@ids::uuid[]) or code = any(@names::text[]) or name = any(@names::text[]))`,
		db.Args{"team": team, "ids": ids, "names": names})
	if err != nil {
		return nil, fmt.Errorf("read accounts of statement layouts: %w", err)
	}

	for _, a := range rows {
		out[a.ID] = a
	}

	return out, nil
}

// loadDesigns loads layouts in the form that statements keep: those with the ids, or all of them for nil.
func loadDesigns(ctx context.Context, tx *db.Tx, team id.ID, ids []id.ID) ([]Design, error) {
	layouts, err := db.Select[Layout](ctx, tx, `select `+designColumns+`, '[]'::jsonb as active_listings from layout y
		where y.team_id = @team and (@ids::uuid[] is null or y.id = any(@ids::uuid[])) order by y.id`, db.Args{"team": team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read statement layouts: %w", err)
	}

	if err := setCurrentNames(ctx, tx, team, layouts); err != nil {
		return nil, err
	}

	out := make([]Design, len(layouts))
	for i := range layouts {
		out[i] = *layouts[i].design()
	}

	return out, nil
}

// All returns the layouts of a team that the transaction may read, oldest first.
func All(ctx context.Context, tx *db.Tx, team id.ID) ([]Design, error) {
	return loadDesigns(ctx, tx, team, nil)
}

// ByID returns a layout of the team. It fails with NOT_FOUND.
func ByID(ctx context.Context, tx *db.Tx, layoutID id.ID) (*Design, error) {
	found, err := loadDesigns(ctx, tx, tx.Team, []id.ID{layoutID})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0], nil
}

// namedAccountsSQL selects the accounts that the columns of a layout y name, as JSON.
const namedAccountsSQL = `(select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'code', a.code, 'name', a.name)), '[]') from account a
	where a.team_id = @team and a.id = any(array(select (v.id #>> '{}')::uuid
		from (values (y.net_revenue_sections), (y.other_sections)) s (sections)
		cross join lateral (
			select jsonb_path_query(s.sections, '$[*].columns[*].value.accountIds[*]')
			union all
			select jsonb_path_query(s.sections, '$[*].columns[*].value.references[*].id')) v (id))))`

// LoadStored returns the designs as LoadChosen does, but only stored layouts: a listing without a layout and a default
// is missing.
func LoadStored(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID]*Design, error) {
	type chosen struct {
		Layout

		ListingIDs []id.ID
		Accounts   []account.Ref
	}

	// Each layout once, however many listings have it, with the accounts that it names.
	found, err := db.Select[chosen](ctx, tx, `
		select `+designColumns+`, '[]'::jsonb as active_listings, c.listing_ids, `+namedAccountsSQL+` as accounts
		from (
			select coalesce(u.layout_id, d.id) as layout_id, array_agg(x.listing_id) as listing_ids
			from unnest(@listings::uuid[]) as x (listing_id)
			left join layout_listing u on u.team_id = @team and u.listing_id = x.listing_id
			left join layout d on d.team_id = @team and d.is_default
			group by 1
		) c join layout y on y.team_id = @team and y.id = c.layout_id`, db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return nil, fmt.Errorf("read the layouts of listings: %w", err)
	}

	out := make(map[id.ID]*Design, len(listings))

	for i := range found {
		c := &found[i]

		accounts := make(map[id.ID]account.Ref, len(c.Accounts))
		for _, a := range c.Accounts {
			accounts[a.ID] = a
		}

		c.setAccounts(accounts)

		// Listings with the same layout share its design.
		design := c.design()
		for _, listing := range c.ListingIDs {
			out[listing] = design
		}
	}

	return out, nil
}

// lockTeam locks the team, so that changes of its layouts wait for each other: the default, and the layouts that
// listings rely on, depend on all layouts.
func lockTeam(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `select from team where team_id = @team for no key update`, db.Args{"team": tx.Team}); err != nil {
		return fmt.Errorf("lock team: %w", err)
	}

	return nil
}

// loadRelying loads the listings that would lose their layout, at most 100: those that chose it (if chosen is set) and,
// when it is the default, those that chose none.
func loadRelying(ctx context.Context, tx *db.Tx, l *Layout, chosen bool) ([]id.ID, error) {
	ids, err := db.Select[id.ID](ctx, tx, `
		select l.id from listing l left join layout_listing u on u.team_id = l.team_id and u.listing_id = l.id
		where l.team_id = @team and (@chosen and u.layout_id = @id or @default and u.layout_id is null)
		order by l.id limit 100`, db.Args{"team": tx.Team, "id": l.ID, "chosen": chosen, "default": l.IsDefault})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a statement layout: %w", err)
	}

	return ids, nil
}

// updateFormerDefault takes the default away from every other layout.
func updateFormerDefault(ctx context.Context, tx *db.Tx, defaultID id.ID) error {
	former, err := db.Select[id.ID](ctx, tx, `
		update layout set is_default = false, version = version + 1, updated_at = @now where team_id = @team and is_default and id <> @id returning id`,
		db.Args{"team": tx.Team, "id": defaultID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("take the default from a statement layout: %w", err)
	}

	// Each of these changes has its own audit event.
	type view struct {
		IsDefault bool `json:"isDefault"`
	}

	for _, layout := range former {
		audit.Note(tx, audit.Updated, audit.StatementLayout, layout, view{true}, view{false})
	}

	return nil
}

// listingChoice says that a listing has a layout as its own.
type listingChoice struct{ LayoutID, ListingID id.ID }

// noteChoice writes the audit event that a listing has the layout as its own now, or no longer.
func (c listingChoice) noteChoice(tx *db.Tx, had, has bool) {
	view := func(is bool) any { return map[string]any{"listings": map[string]bool{c.ListingID.String(): is}} }
	audit.Note(tx,
		audit.Updated,
		audit.StatementLayout,
		c.LayoutID,
		view(had),
		view(has),
		audit.Ref(audit.RoleListing, audit.Listing, c.ListingID),
	)
}

// saveListings saves which listings have the layout as their own: these and no others.
func saveListings(ctx context.Context, tx *db.Tx, layoutID id.ID, listings []id.ID) error {
	args := db.Args{"team": tx.Team, "id": layoutID, "listings": listings}

	// First load the choices that end, for their audit events: of this layout, and of others that lose a listing.
	left, err := db.Select[listingChoice](ctx, tx, `
		select layout_id, listing_id from layout_listing where team_id = @team
			and (layout_id = @id and not listing_id = any(@listings::uuid[]) or layout_id <> @id and listing_id = any(@listings::uuid[]))`, args)
	if err != nil {
		return fmt.Errorf("read the listings of statement layouts: %w", err)
	}

	// Then change them. Listings that had the layout already stay and are not returned.
	taken, err := db.Select[listingChoice](ctx, tx, `
		with gone as (delete from layout_listing where team_id = @team and layout_id = @id and not listing_id = any(@listings::uuid[]))
		insert into layout_listing (team_id, listing_id, layout_id) select distinct @team::uuid, x, @id::uuid from unnest(@listings::uuid[]) x
		on conflict (team_id, listing_id) do update set layout_id = excluded.layout_id where layout_listing.layout_id <> excluded.layout_id
		returning layout_id, listing_id`, args)
	if err != nil {
		return fmt.Errorf("assign a statement layout: %w", err)
	}

	for _, c := range left {
		c.noteChoice(tx, true, false)
	}

	for _, c := range taken {
		c.noteChoice(tx, false, true)
	}

	return nil
}

// insertDesigns inserts designs as new layouts. A name that exists is left alone, and so is the team's default.
func insertDesigns(ctx context.Context, tx *db.Tx, designs []Design) error {
	type row struct {
		ID id.ID `json:"id"`
		Design
		Position int `json:"position"`
	}

	rows := make([]row, len(designs))
	for i := range designs {
		rows[i] = row{tx.NewID(), designs[i], i}
	}

	// A default of the team stays the default.
	made, err := db.Select[id.ID](ctx, tx, `
		insert into layout (team_id, id, name, summary_type, is_default, show_team_email, net_revenue_sections, other_sections, created_at, updated_at)
		select @team, x.id, x.name, x."summaryType",
			x."isDefault" and not exists (select from layout y where y.team_id = @team and y.is_default),
			x."showTeamEmail", x."netRevenueSections", x."otherSections", @now, @now
		from jsonb_to_recordset(@rows) as x (id uuid, position integer, name text, "summaryType" text, "isDefault" boolean, "showTeamEmail" boolean,
			"netRevenueSections" jsonb, "otherSections" jsonb)
		order by x.position
		on conflict (team_id, name) do nothing returning id`, db.Args{"team": tx.Team, "rows": rows, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("store statement layouts: %w", err)
	}

	// Only layouts that were really inserted have an event.
	for i := range rows {
		if slices.Contains(made, rows[i].ID) {
			audit.Note(tx, audit.Created, audit.StatementLayout, rows[i].ID, nil, rows[i].Design)
		}
	}

	return nil
}

// byCode orders accounts by code, those without one last, and by name.
func byCode(a, b account.Ref) int {
	switch {
	case a.Code != nil && b.Code == nil:
		return -1
	case a.Code == nil && b.Code != nil:
		return 1
	case a.Code != nil && plain.Compare(*a.Code, *b.Code) != 0:
		return plain.Compare(*a.Code, *b.Code)
	default:
		return cmp.Or(plain.Compare(a.Name, b.Name), a.ID.Compare(b.ID))
	}
}
