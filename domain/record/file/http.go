package file

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// endpoints returns the routes of attachments and of stored files (ATT-01 to ATT-19, OPS-26 to OPS-30, EXP-04).
func endpoints(store blob.Store, signer *blob.Signer) []api.Endpoint {
	s := server{store, signer}
	readers := []api.Credential{api.TeamKey, api.PartnerKey, api.User, api.Owner}

	return append(s.attachmentEndpoints(readers),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/files/{id}", ID: "getFile", Tag: "Files", Summary: "Read the metadata of a file",
			Doc:    "The metadata stays readable after the content was purged.",
			Scopes: []string{"files:read"}, Open: readers, OneTrip: true,
		}, get),
		api.Stream(api.Endpoint{
			Method: "GET", Path: "/files/{id}/download", ID: "downloadFile", Tag: "Files", Summary: "Download a file",
			Errors: apierr.List{errGone},
			Doc: "Needs a credential of the team that owns the file; ranges and validators are supported. The " +
				"address never expires, the content does. Fails with 410 once the content was purged.",
			Scopes: []string{"files:read"}, Open: readers,
		}, s.download),
		api.Stream(api.Endpoint{
			Method:  "GET",
			Path:    "/links/{teamId}/{fileId}",
			ID:      "followLink",
			Tag:     "Files",
			Summary: "Download a file by a signed link",
			Errors:  apierr.List{errGone, errLink},
			Doc: "Takes a link as an export gave it; no credential is needed. Fails with 410 once the link " +
				"has expired or the content was purged.",
			Public:    true,
			Selection: api.NoTeam,
		}, s.follow),
	)
}

type server struct {
	store  blob.Store
	signer *blob.Signer
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*File, error) {
	r, err := find(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	return &r.File, nil
}

func (s server) download(ctx context.Context, d *db.DB, scope db.Scope, in *getInput) (*api.Content, error) {
	return s.content(ctx, d, scope, func(ctx context.Context, tx *db.Tx) (*row, error) { return find(ctx, tx, in.ID) })
}

// content returns the content of the file that find selects. Only its row is read in a transaction.
func (s server) content(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	find func(context.Context, *db.Tx) (*row, error),
) (*api.Content, error) {
	var r *row

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}

	object, err := r.open(ctx, s.store, d.Now())
	if err != nil {
		return nil, err
	}

	return &api.Content{
		Reader: object, Filename: r.Filename, ContentType: r.ContentType, ETag: r.etag(), Modified: r.CreatedAt.Time,
	}, nil
}

type linkInput struct {
	TeamID    id.ID  `path:"teamId"`
	FileID    id.ID  `path:"fileId"`
	Expires   int64  `query:"expires" required:"true" minimum:"0" doc:"Seconds since 1970."`
	Signature string `query:"signature" required:"true" maxLength:"100"`
}

// follow downloads the file of a signed link. The link names the team, and its signature covers that name.
func (s server) follow(ctx context.Context, d *db.DB, scope db.Scope, in *linkInput) (*api.Content, error) {
	expires := time.Unix(in.Expires, 0)
	if !s.signer.Verify(subject(in.TeamID, in.FileID), expires, in.Signature) {
		return nil, apierr.NotFound
	}

	if !d.Now().Before(expires) {
		return nil, errLink
	}

	scope.Team = in.TeamID

	return s.content(ctx, d, scope, func(ctx context.Context, tx *db.Tx) (*row, error) {
		return find(ctx, tx, in.FileID)
	})
}

// Link returns an address at which anybody can download the file until expires, in whole seconds. The publicURL is
// the service's own address without a trailing slash.
func Link(signer *blob.Signer, publicURL string, team, file id.ID, expires time.Time) string {
	query := url.Values{
		"expires":   {strconv.FormatInt(expires.Unix(), 10)},
		"signature": {signer.Sign(subject(team, file), expires)},
	}

	return publicURL + "/links/" + team.String() + "/" + file.String() + "?" + query.Encode()
}

// subject returns the text that the signature of a link covers.
func subject(team, file id.ID) string { return team.String() + "/" + file.String() }
