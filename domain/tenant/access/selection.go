package access

import (
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// selectTeam returns the team of a request, or nil if the endpoint works without one.
func (g *Gate) selectTeam(c *credential, r *http.Request, e *api.Endpoint, region Region) (*membership, error) {
	if e.Selection == api.NoTeam {
		return nil, nil
	}

	if e.Selection == api.ManagedTeams && !e.PartnerOnly {
		return nil, g.slice(region)
	}

	// A team in the path or header wins over the only team of the credential.
	wanted, err := c.requestTeam(r, e)
	switch {
	case err != nil:
		return nil, err
	case e.PartnerOnly:
		if err := g.slice(region); err != nil {
			return nil, err
		}

		return g.selectPartner(c, e, wanted)
	case wanted == nil:
		return g.onlyTeam(c, e, region)
	}

	if t := c.team(*wanted); t != nil {
		return g.checkServed(t, e, true)
	}

	// The answer for a team that the credential does not hold says no more than the caller may know.
	switch {
	case c.Kind == api.User:
		return nil, apierr.NotFound // (ERR-93)
	case c.Kind == api.Owner, c.Kind == api.Embedded, c.Kind == api.TeamKey && len(c.Teams) == 1 && !e.TeamInPath:
		return nil, errTeamConflict
	default:
		return nil, errTeamNotHeld
	}
}

// requestTeam returns the team that a request names in its path or header, or nil. It fails if the two differ, unless a
// partner key names its own partner as well as the customer in the path.
func (c *credential) requestTeam(r *http.Request, e *api.Endpoint) (*id.ID, error) {
	header, err := parseTeam(r.Header.Get("x-team-id"), "x-team-id", "header")
	if err != nil || !e.TeamInPath {
		return header, err
	}

	path, err := parseTeam(r.PathValue("id"), "id", "path")
	if err == nil && header != nil && path != nil && *header != *path && (c.Kind != api.PartnerKey || *header != c.Home) {
		return nil, errTeamConflict
	}

	return path, err
}

// parseTeam returns a team's id, nil for an empty text. It fails with 400 for a malformed one.
func parseTeam(text, name, schema string) (*id.ID, error) {
	if text == "" {
		return nil, nil
	}

	v, err := id.Parse(text)
	if err != nil {
		return nil, apierr.BadRequest.At(apierr.IssueUUID.In(schema, name))
	}

	return &v, nil
}

func (c *credential) team(wanted id.ID) *membership {
	for i := range c.Teams {
		if c.Teams[i].ID == wanted {
			return &c.Teams[i]
		}
	}

	return nil
}

func missingSelection() error {
	return errNoTeam.At(apierr.IssueRequired.InHeader("x-team-id"))
}

// onlyTeam returns the team of a request without x-team-id: the partner's own team, or the only team of the
// credential. It fails if there are several.
func (g *Gate) onlyTeam(c *credential, e *api.Endpoint, region Region) (*membership, error) {
	if c.Kind == api.PartnerKey {
		home := c.team(c.Home)
		if e.Selection != api.OneTeamOrPartner || home == nil {
			return nil, missingSelection()
		}

		if err := g.slice(region); err != nil {
			return nil, err
		}

		if region != "" && region != home.Region {
			return nil, nil // the slice holds nothing of the partner, and without a team nothing is seen (OPEN-35)
		}

		return g.checkServed(home, e, false)
	}

	if len(c.Teams) == 1 {
		return g.checkServed(&c.Teams[0], e, false)
	}

	return nil, missingSelection()
}

// slice refuses a regional slice that this deployment does not serve.
func (g *Gate) slice(region Region) error {
	if region == "" {
		return nil
	}

	return g.here(region, nil)
}

// here refuses a region that is not served by this deployment, with the base address of the one that serves it, which
// is null when none does.
func (g *Gate) here(region Region, team *id.ID) error {
	if _, here := g.Regions[region]; here {
		return nil
	}

	detail := map[string]any{"dataRegion": region, "apiBaseUrl": nil}
	if base, known := g.Elsewhere[region]; known {
		detail["apiBaseUrl"] = base
	}

	if team != nil {
		detail["teamId"] = *team
	}

	return errMisdirected.With(detail)
}

// checkServed returns the team, or fails if it was deleted or another deployment serves it.
func (g *Gate) checkServed(t *membership, e *api.Endpoint, selected bool) (*membership, error) {
	if t.Status == "deleted" && !e.Deleted {
		return nil, apierr.TeamDeleted
	}

	var named *id.ID
	if selected {
		named = &t.ID
	}

	if err := g.here(t.Region, named); err != nil {
		return nil, err
	}

	return t, nil
}

// selectPartner returns the partner's own team. Routes of the partner work in no other (AUTH-34 … AUTH-38,
// OPEN-64).
func (g *Gate) selectPartner(c *credential, e *api.Endpoint, wanted *id.ID) (*membership, error) {
	var selected *membership

	switch {
	case wanted != nil:
		selected = c.team(*wanted)
	case c.Kind == api.PartnerKey:
		selected = c.team(c.Home)
	case len(c.Teams) == 1:
		selected = &c.Teams[0]
	}

	// A customer team is refused with the id of its partner, so that the caller can correct the request.
	switch {
	case selected == nil && wanted == nil:
		return nil, missingSelection()
	case selected == nil && c.Kind == api.User:
		return nil, apierr.NotFound
	case selected == nil:
		return nil, errTeamNotHeld
	case selected.Type != "partner":
		detail := map[string]any{
			"requiredTeamType": "partner",
			"selectedTeamId":   selected.ID,
			"selectedTeamType": selected.Type,
			"partnerTeamId":    nil,
		}
		if !selected.PartnerID.IsZero() {
			detail["partnerTeamId"] = selected.PartnerID
		}

		return nil, errNotPartnerTeam.With(detail)
	}

	if e.AnyRegion && selected.Status != "deleted" {
		return selected, nil
	}

	return g.checkServed(selected, e, wanted != nil)
}
