package ownerrez

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stayledger/provider/pms"
)

// maxOffset is how many rows a list has at most: more mean that the pages do not end.
const maxOffset = 1_000_000

// pageSize is how many rows the system gives at most at a time.
const pageSize = 100

// list is a page of a list: some lists say where they go on, others how many rows they have.
type list struct {
	Items  []json.RawMessage `json:"items"`
	Count  number            `json:"count"`
	Limit  number            `json:"limit"`
	Offset number            `json:"offset"`
	// Next is empty if the page does not say, and null after the last page.
	Next json.RawMessage `json:"next_page_url"`

	header http.Header
	// behind is the place of the next page, nil after the last one.
	behind *place
}

// place is the position of a page in a list.
type place struct {
	// query has the parameters of the page without the filters, such as an offset.
	query url.Values
	rows  int    // how many rows the pages before had
	first string // the first row of the page before, empty for the first page
	// last is the last row of the page before if this page begins a few rows earlier than it would, empty otherwise.
	last string
}

// String returns the text of a place.
func (p place) String() string {
	return url.Values{
		"query": {p.query.Encode()}, "rows": {strconv.Itoa(p.rows)}, "first": {p.first}, "last": {p.last},
	}.Encode()
}

// readPlace reads the text of a place; an empty text means the beginning. It fails with a pms.Error for any other text.
func readPlace(s string) (place, error) {
	if s == "" {
		return place{query: url.Values{}}, nil
	}

	lost := &pms.Error{Kind: pms.ErrCursor}

	parts, err := url.ParseQuery(s)
	if err != nil {
		return place{}, lost
	}

	query, err := url.ParseQuery(parts.Get("query"))
	if err != nil {
		return place{}, lost
	}

	rows, err := strconv.Atoi(parts.Get("rows"))
	if err != nil || rows < 0 || rows > maxOffset {
		return place{}, lost
	}

	return place{query, rows, parts.Get("first"), parts.Get("last")}, nil
}

// readList asks for a page of a list. It fails with a pms.Error.
func (c *Client) readList(ctx context.Context, path string, filters url.Values, at place) (*list, error) {
	// Our filters replace those in the link, which the system may have changed.
	query := url.Values{}
	maps.Copy(query, at.query)
	maps.Copy(query, filters)

	var out list

	header, err := c.get(ctx, path, query, &out)
	if err != nil {
		return nil, err
	}

	switch {
	case out.Items == nil:
		return nil, pms.BadAnswer("has no list")
	case len(out.Items) > maxRows:
		return nil, pms.BadAnswer("has too many rows")
	}

	out.header = header
	if out.behind, err = c.next(path, &out, at); err != nil {
		return nil, err
	}

	return &out, nil
}

// next returns the place behind a page, nil for the last one. It fails with a pms.Error if the page is the one before
// again, if rows were skipped, or if its link leads elsewhere.
func (c *Client) next(path string, l *list, at place) (*place, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, err
	}

	// A change or deletion moves all later rows up, so that one would be skipped. Therefore each page repeats the last
	// row of the page before; if this row is missing, the reading begins again.
	read := 0
	if at.last != "" {
		if read = slices.Index(ids, at.last) + 1; read == 0 && (len(ids) == 0 || ids[0] != at.first) {
			return nil, &pms.Error{Kind: fmt.Errorf("%w: rows moved while they were read", pms.ErrCursor)}
		}
	}

	// A page without new rows ends the list, even if it has a link.
	if len(ids) == 0 || (read == len(ids) && ids[0] != at.first) {
		return nil, nil //nolint:nilnil // There is no next page.
	}

	out := place{rows: at.rows + len(ids) - read, first: ids[0]}
	if out.first == at.first || out.rows > maxOffset {
		return nil, pms.BadAnswer("has the page before again")
	}

	link, isLast, err := l.link()

	switch {
	case err != nil:
		return nil, err
	case link != "":
		if out.query, err = c.linkQuery(path, link); err != nil {
			return nil, err
		}
	case l.ends(out.rows, isLast):
		return nil, nil //nolint:nilnil // There is no next page.
	default:
		out.query = url.Values{"offset": {strconv.Itoa(out.rows)}}
	}

	return out.stepBack(ids), nil
}

// back is how many rows of a page are asked for again with the next one, at most: so many can move meanwhile.
const back = 5

// stepBack returns a place a few rows before itself, behind a page with some ids. A link that does not say which row it
// begins with is followed as it is.
func (p place) stepBack(ids []string) *place {
	offset, err := strconv.Atoi(p.query.Get("offset"))
	if rows := min(back, len(ids)/4); err == nil && rows > 0 && offset > rows {
		p.query.Set("offset", strconv.Itoa(offset-rows))
		p.last = ids[len(ids)-1]
	}

	return &p
}

// ids returns the ids of the rows of a page in their order. Those that come twice count once: an offset that is too far
// would skip others. It fails with a pms.Error.
func (l *list) ids() ([]string, error) {
	out := make([]string, 0, len(l.Items))
	seen := make(map[string]bool, len(l.Items))

	for _, row := range l.Items {
		id, err := rowID(row)
		if err != nil {
			return nil, err
		}

		if !seen[id] {
			out = append(out, id)
		}

		seen[id] = true
	}

	return out, nil
}

// link returns the link to the next page, empty for none, and whether the page says that it is the last one. It fails
// with a pms.Error.
func (l *list) link() (string, bool, error) {
	switch string(l.Next) {
	case "":
		return "", false, nil
	case "null", `""`:
		return "", true, nil
	}

	var out string
	if json.Unmarshal(l.Next, &out) != nil {
		return "", false, pms.BadAnswer("has a link that is none")
	}

	return out, false, nil
}

// ends reports whether a list without a link ends after so many rows. The count decides if there is one, but a page
// that is full and has no more rows than it can be that of the page.
func (l *list) ends(rows int, isLast bool) bool {
	count, counted := l.Count.Whole()
	if !counted {
		return isLast
	}

	limit, limited := l.Limit.Whole()
	if !limited || limit <= 0 {
		limit = pageSize
	}

	return int64(rows) >= count && (isLast || int64(len(l.Items)) < limit)
}

// hosts are the names of the system's one host: links name either.
var hosts = []string{"api.ownerrez.com", "api.ownerreservations.com"}

// linkQuery returns the query of a link to the next page. Only the query is used, for a call to our own host. It fails
// with a pms.Error if the link leads to another host or another list.
func (c *Client) linkQuery(path, link string) (url.Values, error) {
	target, err := c.base.Parse(link)
	if err != nil || target.Scheme != c.base.Scheme || target.User != nil || !c.isHost(target.Host) ||
		!strings.EqualFold(target.Path, c.base.Path+path) {
		return nil, pms.BadAnswer("has a link that leads elsewhere")
	}

	query, err := url.ParseQuery(target.RawQuery)
	if err != nil {
		return nil, pms.BadAnswer("has a link that is none")
	}

	return query, nil
}

// isHost reports whether a host is the one that is called.
func (c *Client) isHost(host string) bool {
	return host == c.base.Host || (slices.Contains(hosts, host) && slices.Contains(hosts, c.base.Host))
}
