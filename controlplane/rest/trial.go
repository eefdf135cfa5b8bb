package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// try has a node check a provider that is not stored.
func (s *server) try(ctx context.Context, op tenant.Operation, in tenant.ProviderCreate) (admin.ConnectionCheck, error) {
	ask, err := s.store.Probes().Trial(ctx, principal(ctx), op, in)
	if err != nil {
		return admin.ConnectionCheck{}, err
	}
	report, err := s.fleet.Probe(ctx, ask)
	if err != nil || report.Outcome == node.ProbeBehind {
		s.log.Warn("connection not checked", "node", report.Node, "error", err)
		return admin.ConnectionCheck{}, tenant.Unavailable()
	}
	return admin.ConnectionCheck{Valid: report.Outcome == node.ProbeOK, Outcome: admin.ProbeOutcome(report.Outcome), Detail: report.Detail, Node: report.Node}, nil
}

func (s *server) ValidateProvider(ctx context.Context, r admin.ValidateProviderRequestObject) (admin.ValidateProviderResponseObject, error) {
	found, err := s.try(ctx, tenant.ValidateProvider, newProvider(r.Body))
	return admin.ValidateProvider200JSONResponse(found), err
}

func (s *server) ValidateAwsRole(ctx context.Context, r admin.ValidateAwsRoleRequestObject) (admin.ValidateAwsRoleResponseObject, error) {
	in, err := tenant.RoleTrial(r.Body.RoleArn, r.Body.ExternalId, r.Body.Region)
	if err != nil {
		return nil, err
	}
	found, err := s.try(ctx, tenant.ValidateAwsRole, in)
	return admin.ValidateAwsRole200JSONResponse(found), tenant.OfTrial(err)
}

func (s *server) ValidateGoogleVertex(ctx context.Context, r admin.ValidateGoogleVertexRequestObject) (admin.ValidateGoogleVertexResponseObject, error) {
	in := tenant.VertexTrial(rawOf(r.Body.Credentials), r.Body.Project, valueOr(r.Body.Location, "global"))
	found, err := s.try(ctx, tenant.ValidateGoogleVertex, in)
	return admin.ValidateGoogleVertex200JSONResponse(found), tenant.OfTrial(err)
}

func (s *server) GetAwsRoleConfig(ctx context.Context, _ admin.GetAwsRoleConfigRequestObject) (admin.GetAwsRoleConfigResponseObject, error) {
	return admin.GetAwsRoleConfig200JSONResponse(s.trust(principal(ctx).OrganizationID)), nil
}

func (s *server) GetAwsTrustInfo(ctx context.Context, r admin.GetAwsTrustInfoRequestObject) (admin.GetAwsTrustInfoResponseObject, error) {
	c, err := s.store.Connections().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	if c.AuthType != tenant.AuthAWSRole {
		return nil, tenant.NoAWSRole(c.AuthType)
	}
	return admin.GetAwsTrustInfo200JSONResponse(s.trust(principal(ctx).OrganizationID)), nil
}

func (s *server) trust(organization uuid.UUID) admin.AwsTrustInfo {
	t := tenant.TrustOf(organization, s.awsPrincipals)
	return admin.AwsTrustInfo{ExternalId: t.ExternalID, PrincipalArns: append([]string{}, t.Principals...), TrustPolicy: t.Trust, PermissionsPolicy: t.Permissions}
}
