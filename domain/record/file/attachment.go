package file

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const (
	// MaxAttachment bounds the file of an attachment, in bytes (OPEN-24).
	maxAttachment = 25 << 20
	// KeepUnlinked is how long an attachment without a transaction stays (OPEN-49).
	KeepUnlinked = 7 * 24 * time.Hour
)

// TransactionAttachment is a paper of an expense: a receipt, a bill, a photo.
type TransactionAttachment struct {
	ID                id.ID  `json:"id"`
	TransactionID     *id.ID `json:"transactionId" doc:"Null until it is linked."`
	Filename          string `json:"filename"`
	ContentType       string `json:"contentType"`
	ByteSize          int64  `json:"byteSize"`
	IsOwnerAccessible bool   `json:"isOwnerAccessible" doc:"Shown to owners with the statements that the expense is on."`
}

// attachmentEndpoints returns the routes of attachments. The readers may read and download them.
func (s server) attachmentEndpoints(readers []api.Credential) []api.Endpoint {
	const tag, single = "Transaction attachments", "/transaction-attachments/{attachmentId}"

	read, write := []string{"transactions:read|files:read"}, []string{"transactions:write"}

	return api.RequireBooks([]api.Endpoint{
		api.Receive(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transaction-attachments",
			ID:      "uploadTransactionAttachment",
			Tag:     tag,
			Summary: "Upload an attachment",
			Doc: "Pass the id in `attachmentIds` of an expense; what no transaction takes within 7 days is purged. " +
				"The content decides whether a file is taken: PDF, PNG, JPEG, WebP, HEIC, CSV, XLSX, DOCX and text. " +
				"Failures in order: 400 for another content type than multipart/form-data; 413 beyond 25 MiB; 400 " +
				"for a malformed form and for one that comes in too slowly; the issues `unknownField`, " +
				"`duplicateField`, `enum`, `emptyFile`, `contentTypeNotSupported`, `imageTooLarge` (over 100 " +
				"megapixels), `archiveTooLarge`, `required`.",
			Scopes:  write,
			Status:  http.StatusCreated,
			MaxBody: maxAttachment,
			Form:    attachmentForm,
		}, api.Receiver[uploadInput, received, TransactionAttachment]{
			Receive: s.receive,
			Settle:  settle,
			Drop:    s.drop,
		}),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    single,
			ID:      "getTransactionAttachment",
			Tag:     tag,
			Summary: "Read the metadata of an attachment",
			Scopes:  read,
			Open:    readers,
			OneTrip: true,
		}, getAttachment),
		api.Write(api.Endpoint{
			Method:  http.MethodPatch,
			Path:    single,
			ID:      "updateTransactionAttachment",
			Tag:     tag,
			Summary: "Open an attachment to owners, or close it",
			Doc:     "Neither closed books nor statements hold an attachment, since no amount depends on it.",
			Scopes:  write,
		}, patchAttachment),
		api.Stream(api.Endpoint{
			Method:  http.MethodGet,
			Path:    single + "/download",
			ID:      "downloadTransactionAttachment",
			Tag:     tag,
			Summary: "Download an attachment",
			Errors:  apierr.List{errGone},
			Doc: "Ranges and validators are supported. Owners get what is accessible to them on a statement that " +
				"they see. Fails with 410 once an unlinked one was purged.",
			Scopes: read,
			Open:   readers,
		}, s.downloadAttachment),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    single,
			ID:      "deleteTransactionAttachment",
			Tag:     tag,
			Summary: "Delete an attachment",
			Doc:     "Unlinks it from its transaction, closed or not; the content goes within hours.",
			Scopes:  []string{"transactions:delete"},
		}, deleteAttachment),
	})
}

var attachmentForm = []api.Part{
	{Name: "file", Required: true, File: true, Doc: "At most 25 MiB."},
	{Name: "filename", Doc: "Replaces the name of the uploaded file. Folders and characters that cannot be seen are " +
		"left out."},
	{Name: "contentType", Doc: "Replaces the content type that the content is recognised as, by another of those " +
		"that are supported."},
	{Name: "isOwnerAccessible", Doc: "Default false.", Enum: []string{"true", "1", "false", "0"}},
}

type uploadInput struct {
	Upload *api.Upload
}

// received is an upload after its bytes were stored.
type received struct {
	Stored
	filename, contentType string
	ownerAccessible       bool
}

// receive stores the bytes of an upload and checks all of its form. If the form is refused, nothing stays in the
// store. It fails with 503 if the store does not answer.
func (s server) receive(ctx context.Context, d *db.DB, scope db.Scope, in *uploadInput) (received, error) {
	var out received

	stored, err := Keep(ctx, d, scope, s.store, func(to io.Writer) error {
		var (
			sent  api.Incoming
			found string
		)

		// The bytes go into the store while they arrive, and their type is found on the way.
		values, err := in.Upload.Read(func(f api.Incoming) (err error) {
			sent = f
			found, err = inspect(f, to)

			return err
		})
		if err != nil {
			return err
		}

		// A name or type in the form wins over those of the uploaded part.
		if out.filename = CleanName(sent.Filename); values["filename"] != "" {
			out.filename = CleanName(values["filename"])
		}

		out.contentType, err = label(found, out.filename, sent.ContentType, values["contentType"])
		if out.filename == "" {
			out.filename = "attachment" + endings[out.contentType]
		}

		out.ownerAccessible = values["isOwnerAccessible"] == "true" || values["isOwnerAccessible"] == "1"

		return err
	})
	if errors.Is(err, ErrStore) {
		return received{}, apierr.ServiceUnavailable.Because(err)
	}

	out.Stored = stored

	return out, err
}

// settle inserts the uploaded file and its attachment once the bytes are in the store. An attachment that no
// transaction takes in time is purged.
func settle(ctx context.Context, tx *db.Tx, _ *uploadInput, r received) (*TransactionAttachment, error) {
	_, err := Insert(ctx, tx, New{
		Stored:      r.Stored,
		Kind:        Attachment,
		Filename:    r.filename,
		ContentType: r.contentType,
		PurgeAt:     tx.Now.Add(KeepUnlinked),
	})
	if err != nil {
		return nil, err
	}

	if err := insertAttachment(ctx, tx, r.ID, r.ownerAccessible); err != nil {
		return nil, err
	}

	a := &TransactionAttachment{
		ID:                r.ID,
		Filename:          r.filename,
		ContentType:       r.contentType,
		ByteSize:          r.Size,
		IsOwnerAccessible: r.ownerAccessible,
	}
	audit.Note(tx, audit.Created, audit.File, a.ID, nil, a)

	return a, nil
}

func (s server) drop(ctx context.Context, d *db.DB, scope db.Scope, r received) {
	Discard(ctx, d, scope, s.store, r.ID)
}

type attachmentInput struct {
	ID id.ID `path:"attachmentId"`
}

func getAttachment(ctx context.Context, tx *db.Tx, in *attachmentInput) (*TransactionAttachment, error) {
	return attachment(ctx, tx, in.ID)
}

func (s server) downloadAttachment(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	in *attachmentInput,
) (*api.Content, error) {
	return s.content(ctx, d, scope, func(ctx context.Context, tx *db.Tx) (*row, error) {
		return findAttachment(ctx, tx, in.ID)
	})
}

// AttachmentChange says what becomes of an attachment.
type AttachmentChange struct {
	IsOwnerAccessible bool `json:"isOwnerAccessible"`
}

type patchInput struct {
	attachmentInput
	Body AttachmentChange
}

func patchAttachment(ctx context.Context, tx *db.Tx, in *patchInput) (*TransactionAttachment, error) {
	if err := openToOwners(ctx, tx, in.ID, in.Body.IsOwnerAccessible); err != nil {
		return nil, err
	}

	return attachment(ctx, tx, in.ID)
}

func deleteAttachment(ctx context.Context, tx *db.Tx, in *attachmentInput) (*api.None, error) {
	return nil, removeAttachment(ctx, tx, in.ID)
}
