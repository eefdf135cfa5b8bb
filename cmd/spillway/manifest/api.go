package manifest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

const mediaJSON = "application/json"

// operations are what the API does with one kind of resource.
type operations struct {
	list   func(ctx context.Context) ([]json.RawMessage, error)
	get    func(ctx context.Context, id uuid.UUID) (*http.Response, error)
	create func(ctx context.Context, body io.Reader) (*http.Response, error)
	update func(ctx context.Context, id uuid.UUID, etag *string, body io.Reader) (*http.Response, error)
	remove func(ctx context.Context, id uuid.UUID, etag *string) (*http.Response, error)
}

// listing is the list of a kind as the API has it.
func listing[P any](call func(context.Context, *P, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context) ([]json.RawMessage, error) {
	return func(ctx context.Context) ([]json.RawMessage, error) {
		return client.Collect(client.List[json.RawMessage](ctx, call, nil))
	}
}

// getting drops what no caller here needs.
func getting(call func(context.Context, uuid.UUID, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context, uuid.UUID) (*http.Response, error) {
	return func(ctx context.Context, id uuid.UUID) (*http.Response, error) { return call(ctx, id) }
}

// creating, updating and removing are the generated calls with their parameters, of which
// only If-Match is of use here.
func creating[P any](call func(context.Context, *P, string, io.Reader, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context, io.Reader) (*http.Response, error) {
	return func(ctx context.Context, body io.Reader) (*http.Response, error) {
		return call(ctx, nil, mediaJSON, body)
	}
}

func updating[P any](call func(context.Context, uuid.UUID, *P, string, io.Reader, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context, uuid.UUID, *string, io.Reader) (*http.Response, error) {
	return func(ctx context.Context, id uuid.UUID, etag *string, body io.Reader) (*http.Response, error) {
		return call(ctx, id, nil, mediaJSON, body, ifMatch(etag))
	}
}

func removing[P any](call func(context.Context, uuid.UUID, *P, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context, uuid.UUID, *string) (*http.Response, error) {
	return func(ctx context.Context, id uuid.UUID, etag *string) (*http.Response, error) {
		return call(ctx, id, nil, ifMatch(etag))
	}
}

// ifMatch puts a condition on a change. Nil is none.
func ifMatch(etag *string) admin.RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		if etag != nil {
			req.Header.Set("If-Match", *etag)
		}
		return nil
	}
}

// operationsOf are those of every kind. A route's are its targets'.
func operationsOf(c *client.Client) map[string]operations {
	mappings := operations{listing(c.ListModelMappings), getting(c.GetModelMapping), creating(c.CreateModelMappingWithBody), updating(c.UpdateModelMappingWithBody), removing(c.DeleteModelMapping)}
	return map[string]operations{
		keyConnections: {listing(c.ListConnections), getting(c.GetConnection), creating(c.CreateConnectionWithBody), updating(c.UpdateConnectionWithBody), removing(c.DeleteConnection)},
		keyProviders:   {listing(c.ListProviders), getting(c.GetProvider), creating(c.CreateProviderWithBody), updating(c.UpdateProviderWithBody), removing(c.DeleteProvider)},
		keyModels:      mappings,
		keyRoutes:      mappings,
		keyGroups:      {listing(c.ListModelRouteGroups), getting(c.GetModelRouteGroup), creating(c.CreateModelRouteGroupWithBody), updating(c.UpdateModelRouteGroupWithBody), removing(c.DeleteModelRouteGroup)},
		keyAccess:      {listing(c.ListModelAccess), getting(c.GetModelAccess), creating(c.CreateModelAccessWithBody), updating(c.UpdateModelAccessWithBody), removing(c.DeleteModelAccess)},
		keyRateLimits:  {listing(c.ListRateLimits), getting(c.GetRateLimit), creating(c.CreateRateLimitWithBody), updating(c.UpdateRateLimitWithBody), removing(c.DeleteRateLimit)},
		keyBudgets:     {listing(c.ListBudgets), getting(c.GetBudget), creating(c.CreateBudgetWithBody), updating(c.UpdateBudgetWithBody), removing(c.DeleteBudget)},
		keyGovernance: {
			list: func(ctx context.Context) ([]json.RawMessage, error) {
				raw, err := content(c.GetGovernanceConfig(ctx))
				return []json.RawMessage{raw}, err
			},
			get: func(ctx context.Context, _ uuid.UUID) (*http.Response, error) { return c.GetGovernanceConfig(ctx) },
			update: func(ctx context.Context, _ uuid.UUID, etag *string, body io.Reader) (*http.Response, error) {
				return c.UpdateGovernanceConfigWithBody(ctx, nil, mediaJSON, body, ifMatch(etag))
			},
		},
	}
}

// content reads an answer.
func content(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}
