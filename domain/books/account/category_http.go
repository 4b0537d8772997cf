package account

import (
	"context"
	"net/http"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// categoryEndpoints returns the routes of categories.
func categoryEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/account-categories",
			ID:      "listAccountCategories",
			Tag:     tag,
			Summary: "List the categories of accounts",
			Scopes:  []string{"accounts:read"},
		}, listCategories),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/account-categories",
			ID:      "createAccountCategory",
			Tag:     tag,
			Summary: "Create a category",
			Errors:  apierr.List{errDuplicateName},
			Scopes:  []string{"accounts:write"},
			DryRun:  true,
			Status:  http.StatusCreated,
		}, createCategory),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/account-categories/{id}",
			ID:      "updateAccountCategory",
			Tag:     tag,
			Summary: "Change a category",
			Errors:  apierr.List{errClassificationLocked, errDuplicateName},
			Scopes:  []string{"accounts:write"},
			DryRun:  true,
		}, putCategory),
	}
}

// categorySort is an order of categories.
type categorySort string

// Enum lists the orders.
func (categorySort) Enum() []string { return categorySorts.Enum() }

type categoryListInput struct {
	page.Params
	Sort           categorySort   `query:"sort" default:"position"`
	Classification Classification `query:"classification"`
}

// listCategories returns a page of categories.
func listCategories(ctx context.Context, tx *db.Tx, in *categoryListInput) (*page.Page[Category], error) {
	q := categoryQuery(tx)
	q.Narrow("classification = ?", in.Classification)

	return page.List[Category](ctx, tx, q, in.Params, in.Sort)
}

// CreateCategory is the body of a new category.
type CreateCategory struct {
	Name           string         `json:"name" minLength:"1" maxLength:"200"`
	Classification Classification `json:"classification"`
	Position       int64          `json:"position,omitempty" minimum:"1" maximum:"100000" doc:"By default behind the others."`
}

type createCategoryInput struct{ Body CreateCategory }

// createCategory makes a category.
func createCategory(ctx context.Context, tx *db.Tx, in *createCategoryInput) (*Category, error) {
	c := &Category{
		ID:             tx.NewID(),
		Name:           in.Body.Name,
		Classification: in.Body.Classification,
		Position:       in.Body.Position,
	}
	if err := insertCategory(ctx, tx, c); err != nil {
		return nil, err
	}

	made, err := loadCategory(ctx, tx, c.ID)
	if err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Created, audit.Category, c.ID, nil, made)

	return made, nil
}

// UpdateCategory changes the fields that are present.
type UpdateCategory struct {
	Name           *string         `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Classification *Classification `json:"classification,omitempty"`
	Position       *int64          `json:"position,omitempty" minimum:"1" maximum:"100000"`
}

type putCategoryInput struct {
	ID   id.ID `path:"id"`
	Body UpdateCategory
}

// putCategory changes a category. It refuses another classification while ledger entries use its accounts.
func putCategory(ctx context.Context, tx *db.Tx, in *putCategoryInput) (*Category, error) {
	c, err := loadCategory(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	before := audit.See(c)

	// Reports that were given out depend on the classification.
	if v := in.Body.Classification; v != nil && *v != c.Classification {
		used, err := isPosted(ctx, tx, c.ID)
		if err != nil {
			return nil, err
		}

		if used {
			return nil, errClassificationLocked.At(apierr.IssueAccountClassificationLocked.InBody("classification"))
		}

		c.Classification = *v
	}

	if in.Body.Name != nil {
		c.Name = *in.Body.Name
	}

	if in.Body.Position != nil {
		c.Position = *in.Body.Position
	}

	// Last, save the changes and write the audit event.
	if err := updateCategory(ctx, tx, c); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Updated, audit.Category, c.ID, before, c)

	return c, nil
}
