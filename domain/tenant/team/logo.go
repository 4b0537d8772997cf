package team

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"time"

	"golang.org/x/image/draw"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

const (
	// MaxLogo bounds the image that is sent, in bytes; maxLogoPixels what it may say it unpacks to.
	maxLogo       = 2 << 20
	maxLogoPixels = 16_000_000
	// A kept logo fits into this box: twice the resolution of print in the place that papers have for it.
	logoWidth, logoHeight = 800, 320
	logoQuality           = 90
	// DrawTime bounds the decoding: a small JPEG can go over its picture tens of thousands of times.
	drawTime = 5 * time.Second
)

// Logo is the image on the team's papers, as it is kept.
type Logo struct {
	ContentType string      `json:"contentType" enum:"image/png,image/jpeg"`
	Width       int64       `json:"width" doc:"In pixels."`
	Height      int64       `json:"height" doc:"In pixels."`
	ByteSize    int64       `json:"byteSize"`
	UpdatedAt   day.Instant `json:"updatedAt"`
}

// drawn is a logo that is ready to be kept.
type drawn struct {
	contentType   string
	width, height int
	content       []byte
}

// logoEndpoints returns the routes of the team's logo.
func (h handler) logoEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Stream(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/team/logo",
			ID:      "getTeamLogo",
			Tag:     "Teams",
			Summary: "Read the team's logo",
			Errors:  apierr.List{apierr.NotFound},
			Doc:     "A PNG or JPEG of at most 800 by 320 pixels.",
			Scopes:  []string{"team:read"},
		}, readLogo),
		api.Receive(api.Endpoint{
			Method: http.MethodPut, Path: "/team/logo", ID: "putTeamLogo", Tag: "Teams", Summary: "Set the team's logo",
			Doc: "The body is the image: a PNG or JPEG of at most 2 MiB and 16 megapixels. It is drawn anew in at " +
				"most 800 by 320 pixels, without the other data of the file. Fails with 413, with " +
				"`contentTypeNotSupported` for what is no sound PNG or JPEG, and with `imageTooLarge`.",
			Scopes: []string{"team:write"}, MaxBody: maxLogo,
		}, api.Receiver[logoInput, *drawn, Logo]{Receive: h.drawLogo, Settle: saveLogo}),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/team/logo",
			ID:      "deleteTeamLogo",
			Tag:     "Teams",
			Summary: "Remove the team's logo",
			Errors:  apierr.List{apierr.NotFound},
			Scopes:  []string{"team:write"},
		}, deleteLogo),
	}
}

type logoInput struct {
	Raw api.Raw
}

// Resolve judges the image by its header, before anything is decoded: a small file can say that it unpacks to
// gigabytes.
func (in *logoInput) Resolve() []apierr.Issue {
	config, format, err := image.DecodeConfig(bytes.NewReader(in.Raw))
	switch {
	case err != nil, format != "png" && format != "jpeg", config.Width <= 0, config.Height <= 0:
		return []apierr.Issue{errNoImage}
	case int64(config.Width)*int64(config.Height) > maxLogoPixels:
		return []apierr.Issue{apierr.IssueImageTooLarge.InBody()}
	}

	return nil
}

var errNoImage = apierr.IssueContentTypeNotSupported.InBody()

// drawLogo decodes and scales the sent image. It decodes one image at a time, since each takes up to 350 MB: a
// progressive JPEG of four colors.
func (h handler) drawLogo(ctx context.Context, _ *db.DB, _ db.Scope, in *logoInput) (*drawn, error) {
	select {
	case h.drawing <- struct{}{}:
		defer func() { <-h.drawing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	// A small file can take very long to decode, so the time is limited too.
	decoding, cancel := context.WithTimeout(ctx, drawTime)
	defer cancel()

	source, format, err := image.Decode(untilDone{decoding, bytes.NewReader(in.Raw)})

	if ctx.Err() != nil {
		return nil, ctx.Err()
	}

	if err != nil {
		return nil, apierr.BadRequest.At(errNoImage)
	}

	// Cameras store a turned picture and say so.
	turn := asItIs
	if format == "jpeg" {
		turn = orientation(in.Raw)
	}

	return scaleLogo(source, format, turn)
}

// untilDone is a reader that fails once its context has ended, which stops a decoder.
type untilDone struct {
	ctx context.Context //nolint:containedctx // a reader is called without one
	r   io.Reader
}

// Read returns at most a kilobyte, so that the time is checked often enough.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}

	return u.r.Read(p[:min(len(p), 1<<10)])
}

// scaleLogo returns the logo as it is stored: upright and scaled to the box. A PNG stays a PNG for its transparency.
func scaleLogo(source image.Image, format string, turn int) (out *drawn, err error) {
	size := source.Bounds().Size()

	boxWidth, boxHeight := float64(logoWidth), float64(logoHeight)
	if turn >= turned {
		boxWidth, boxHeight = boxHeight, boxWidth
	}

	// Scale down only, then turn: turning few pixels is cheaper.
	scale := min(1, boxWidth/float64(size.X), boxHeight/float64(size.Y))
	target := image.NewRGBA(image.Rect(
		0,
		0,
		max(1, int(float64(size.X)*scale+0.5)),
		max(1, int(float64(size.Y)*scale+0.5)),
	))
	draw.CatmullRom.Scale(target, target.Bounds(), source, source.Bounds(), draw.Src, nil)
	target = upright(target, turn)
	out = &drawn{width: target.Rect.Dx(), height: target.Rect.Dy()}

	// Encoding again drops everything else that the file contained.
	var b bytes.Buffer
	if format == "png" {
		out.contentType, err = "image/png", png.Encode(&b, target)
	} else {
		out.contentType, err = "image/jpeg", jpeg.Encode(&b, target, &jpeg.Options{Quality: logoQuality})
	}

	if err != nil {
		return nil, fmt.Errorf("encode logo: %w", err)
	}

	out.content = b.Bytes()

	return out, nil
}

// saveLogo saves the logo in place of the old one.
func saveLogo(ctx context.Context, tx *db.Tx, _ *logoInput, l *drawn) (*Logo, error) {
	sum := sha256.Sum256(l.content)

	was, err := db.Select[[]byte](ctx, tx, `
		with was as (select sha256 from team_logo where team_id = @team), made as (
		insert into team_logo (team_id, content, content_type, width, height, sha256, updated_at)
		values (@team, @content, @type, @width, @height, @sum, @now)
		on conflict (team_id) do update set content = excluded.content, content_type = excluded.content_type, width = excluded.width,
			height = excluded.height, sha256 = excluded.sha256, updated_at = excluded.updated_at)
		select sha256 from was`,
		db.Args{
			"team":    tx.Team,
			"content": l.content,
			"type":    l.contentType,
			"width":   l.width,
			"height":  l.height,
			"sum":     sum[:],
			"now":     tx.Now,
		})
	if err != nil {
		return nil, fmt.Errorf("keep logo: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, logoView(was...), logoView(sum[:]))

	return &Logo{
		ContentType: l.contentType,
		Width:       int64(l.width),
		Height:      int64(l.height),
		ByteSize:    int64(len(l.content)),
		UpdatedAt:   day.At(tx.Now),
	}, nil
}

// logoBytes is a logo that is streamed from memory.
type logoBytes struct{ *bytes.Reader }

// Close does nothing.
func (logoBytes) Close() error { return nil }

// readLogo returns the logo as a file. It fails with apierr.NotFound if there is none.
func readLogo(ctx context.Context, d *db.DB, scope db.Scope, _ *api.None) (*api.Content, error) {
	type row struct {
		Content     []byte
		ContentType string
		SHA256      []byte
		UpdatedAt   day.Instant
	}

	var r row

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = db.One[row](ctx, tx, apierr.NotFound, `select content, content_type, sha256, updated_at from team_logo where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read logo: %w", err)
	}

	name := "logo.png"
	if r.ContentType == "image/jpeg" {
		name = "logo.jpg"
	}

	return &api.Content{
		Reader:      logoBytes{bytes.NewReader(r.Content)},
		Filename:    name,
		ContentType: r.ContentType,
		ETag:        hex.EncodeToString(r.SHA256),
		Modified:    r.UpdatedAt.Time,
		Inline:      true,
	}, nil
}

func deleteLogo(ctx context.Context, tx *db.Tx, _ *api.None) (*api.None, error) {
	was, err := db.One[[]byte](ctx, tx, apierr.NotFound, `delete from team_logo where team_id = @team returning sha256`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("delete logo: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, logoView(was), nil)

	return &api.None{}, nil
}

// logoView returns a logo as events show it: by the hash of its content. There is at most one.
func logoView(sums ...[]byte) any {
	view := map[string]string{}
	for _, sum := range sums {
		view["logo"] = hex.EncodeToString(sum)
	}

	return view
}
