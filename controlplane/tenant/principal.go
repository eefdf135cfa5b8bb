package tenant

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Role orders what a caller may do within an organization.
type Role string

// The roles, the lowest first. A role may do all that a lower one may.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
)

// rank of an unknown role is 0, below every role that exists.
var rank = map[Role]int{RoleMember: 1, RoleAdmin: 2, RoleOwner: 3}

// Valid reports whether the role exists.
func (r Role) Valid() bool { return rank[r] > 0 }

// Principal is who calls, within one organization. Exactly one of ServiceAccountID
// and UserID is set.
type Principal struct {
	OrganizationID   uuid.UUID
	ServiceAccountID uuid.UUID
	UserID           uuid.UUID
	SessionID        uuid.UUID // by which the user came; Nil: not by a session
	Email            string
	Name             string
	Role             Role

	// Of the one call, as the caller's headers have them:

	// IfMatch is empty or what the resource to change must match; see Match.
	IfMatch string
	// IdempotencyKey is empty or the caller's name for the call.
	IdempotencyKey string
}

// Match refuses a change of a resource that the caller saw at another revision (RFC
// 9110, section 13.1.1).
func (p Principal) Match(revision int64) error { return p.MatchTag(ETag(revision)) }

// MatchTag is Match for what has another ETag than a revision.
func (p Principal) MatchTag(etag string) error {
	if p.IfMatch == "" {
		return nil
	}
	for tag := range strings.SplitSeq(p.IfMatch, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag {
			return nil
		}
	}
	return &Error{Kind: KindStale, Code: "stale", Message: "the resource was changed since you read it: read it again"}
}

// ETag is a revision as HTTP writes it.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// Subject is the id of the user or service account.
func (p Principal) Subject() uuid.UUID {
	if p.UserID != uuid.Nil {
		return p.UserID
	}
	return p.ServiceAccountID
}

// Actor is how the principal is remembered on what it changes.
func (p Principal) Actor() Actor {
	var a Actor
	if p.UserID != uuid.Nil {
		a.UserID = &p.UserID
	}
	if p.Email != "" {
		a.Email = &p.Email
	}
	if p.Name != "" {
		a.Name = &p.Name
	}
	return a
}

// Operation is an operation of the admin API, named as its operationId.
type Operation string

// The operations that act for a principal.
const (
	ListProviders             Operation = "listProviders"
	CreateProvider            Operation = "createProvider"
	GetProvider               Operation = "getProvider"
	UpdateProvider            Operation = "updateProvider"
	DeleteProvider            Operation = "deleteProvider"
	ListProviderModelMappings Operation = "listProviderModelMappings"
	GetProviderCatalog        Operation = "getProviderCatalog"

	ListModelMappings    Operation = "listModelMappings"
	CreateModelMapping   Operation = "createModelMapping"
	GetModelMapping      Operation = "getModelMapping"
	UpdateModelMapping   Operation = "updateModelMapping"
	DeleteModelMapping   Operation = "deleteModelMapping"
	ReorderModelMappings Operation = "reorderModelMappings"

	ListModelAccess   Operation = "listModelAccess"
	CreateModelAccess Operation = "createModelAccess"
	GetModelAccess    Operation = "getModelAccess"
	UpdateModelAccess Operation = "updateModelAccess"
	DeleteModelAccess Operation = "deleteModelAccess"

	ListModelRouteGroups        Operation = "listModelRouteGroups"
	CreateModelRouteGroup       Operation = "createModelRouteGroup"
	GetModelRouteGroup          Operation = "getModelRouteGroup"
	UpdateModelRouteGroup       Operation = "updateModelRouteGroup"
	DeleteModelRouteGroup       Operation = "deleteModelRouteGroup"
	AddModelRouteGroupMembers   Operation = "addModelRouteGroupMembers"
	RemoveModelRouteGroupMember Operation = "removeModelRouteGroupMember"

	ListRoutes      Operation = "listRoutes"
	CreateRoute     Operation = "createRoute"
	GetRoute        Operation = "getRoute"
	AddRouteTargets Operation = "addRouteTargets"
	RenameRoute     Operation = "renameRoute"
	DuplicateRoute  Operation = "duplicateRoute"
	DeleteRoute     Operation = "deleteRoute"

	GetGovernanceConfig    Operation = "getGovernanceConfig"
	UpdateGovernanceConfig Operation = "updateGovernanceConfig"

	ListAPIKeys  Operation = "listApiKeys"
	CreateAPIKey Operation = "createApiKey"
	GetAPIKey    Operation = "getApiKey"
	UpdateAPIKey Operation = "updateApiKey"
	RevokeAPIKey Operation = "revokeApiKey"
	RotateAPIKey Operation = "rotateApiKey"

	ListModelPricing           Operation = "listModelPricing"
	CreateModelPricing         Operation = "createModelPricing"
	UpdateModelPricing         Operation = "updateModelPricing"
	DeleteModelPricing         Operation = "deleteModelPricing"
	RestoreModelPricing        Operation = "restoreModelPricing"
	GetModelPricingVersion     Operation = "getModelPricingVersion"
	ListModelPricingHistory    Operation = "listModelPricingHistory"
	ListArchivedModelPricing   Operation = "listArchivedModelPricing"
	ListModelPricingDefaults   Operation = "listModelPricingDefaults"
	ImportModelPricingDefaults Operation = "importModelPricingDefaults"
	SyncModelPricingDefaults   Operation = "syncModelPricingDefaults"

	ListRateLimits      Operation = "listRateLimits"
	CreateRateLimit     Operation = "createRateLimit"
	GetRateLimit        Operation = "getRateLimit"
	UpdateRateLimit     Operation = "updateRateLimit"
	DeleteRateLimit     Operation = "deleteRateLimit"
	ListRateLimitStatus Operation = "listRateLimitStatus"

	ListBudgets      Operation = "listBudgets"
	CreateBudget     Operation = "createBudget"
	GetBudget        Operation = "getBudget"
	UpdateBudget     Operation = "updateBudget"
	DeleteBudget     Operation = "deleteBudget"
	ListBudgetStatus Operation = "listBudgetStatus"

	ListRoutingPolicies Operation = "listRoutingPolicies"
	CreateRoutingPolicy Operation = "createRoutingPolicy"
	GetRoutingPolicy    Operation = "getRoutingPolicy"
	UpdateRoutingPolicy Operation = "updateRoutingPolicy"
	DeleteRoutingPolicy Operation = "deleteRoutingPolicy"

	ListRoutingRules  Operation = "listRoutingRules"
	CreateRoutingRule Operation = "createRoutingRule"
	GetRoutingRule    Operation = "getRoutingRule"
	UpdateRoutingRule Operation = "updateRoutingRule"
	DeleteRoutingRule Operation = "deleteRoutingRule"

	GetConfigStatus Operation = "getConfigStatus"
	ListNodes       Operation = "listNodes"
	WatchChanges    Operation = "watchChanges"
	WatchOwnChanges Operation = "watchOwnChanges"

	ListAuditEvents Operation = "listAuditEvents"

	ListConnections  Operation = "listConnections"
	CreateConnection Operation = "createConnection"
	GetConnection    Operation = "getConnection"
	UpdateConnection Operation = "updateConnection"
	DeleteConnection Operation = "deleteConnection"

	ListUsers         Operation = "listUsers"
	CreateUser        Operation = "createUser"
	GetUser           Operation = "getUser"
	UpdateUser        Operation = "updateUser"
	DeleteUser        Operation = "deleteUser"
	ListUserSessions  Operation = "listUserSessions"
	EndUserSessions   Operation = "endUserSessions"
	ListGroups        Operation = "listGroups"
	CreateGroup       Operation = "createGroup"
	GetGroup          Operation = "getGroup"
	UpdateGroup       Operation = "updateGroup"
	DeleteGroup       Operation = "deleteGroup"
	AddGroupMembers   Operation = "addGroupMembers"
	RemoveGroupMember Operation = "removeGroupMember"
	ProbeProvider     Operation = "probeProvider"

	ValidateProvider     Operation = "validateProvider"
	GetAwsRoleConfig     Operation = "getAwsRoleConfig"
	GetAwsTrustInfo      Operation = "getAwsTrustInfo"
	ValidateAwsRole      Operation = "validateAwsRole"
	ValidateGoogleVertex Operation = "validateGoogleVertex"

	GetSession      Operation = "getSession"
	Logout          Operation = "logout"
	GetProfile      Operation = "getProfile"
	UpdateProfile   Operation = "updateProfile"
	ChangePassword  Operation = "changePassword"
	ListOwnSessions Operation = "listOwnSessions"
	EndOwnSession   Operation = "endOwnSession"
	ListOwnAPIKeys  Operation = "listOwnApiKeys"
	CreateOwnAPIKey Operation = "createOwnApiKey"
	GetOwnAPIKey    Operation = "getOwnApiKey"
	UpdateOwnAPIKey Operation = "updateOwnApiKey"
	RevokeOwnAPIKey Operation = "revokeOwnApiKey"
	RotateOwnAPIKey Operation = "rotateOwnApiKey"
	ListOwnModels   Operation = "listOwnModels"

	ListRouteHealth  Operation = "listRouteHealth"
	ResetRouteHealth Operation = "resetRouteHealth"
	ClassifyResult   Operation = "classifyResult"
	ExplainRequest   Operation = "explainRequest"
)

// permissions is the least role of every operation. An operation that is not here
// is permitted to nobody.
var permissions = map[Operation]Role{
	ListProviders:             RoleAdmin,
	CreateProvider:            RoleAdmin,
	GetProvider:               RoleAdmin,
	UpdateProvider:            RoleAdmin,
	DeleteProvider:            RoleAdmin,
	ListProviderModelMappings: RoleAdmin,
	GetProviderCatalog:        RoleAdmin,

	ListModelMappings:    RoleAdmin,
	CreateModelMapping:   RoleAdmin,
	GetModelMapping:      RoleAdmin,
	UpdateModelMapping:   RoleAdmin,
	DeleteModelMapping:   RoleAdmin,
	ReorderModelMappings: RoleAdmin,

	ListModelAccess:   RoleAdmin,
	CreateModelAccess: RoleAdmin,
	GetModelAccess:    RoleAdmin,
	UpdateModelAccess: RoleAdmin,
	DeleteModelAccess: RoleAdmin,

	ListModelRouteGroups:        RoleAdmin,
	CreateModelRouteGroup:       RoleAdmin,
	GetModelRouteGroup:          RoleAdmin,
	UpdateModelRouteGroup:       RoleAdmin,
	DeleteModelRouteGroup:       RoleAdmin,
	AddModelRouteGroupMembers:   RoleAdmin,
	RemoveModelRouteGroupMember: RoleAdmin,

	ListRoutes:      RoleAdmin,
	CreateRoute:     RoleAdmin,
	GetRoute:        RoleAdmin,
	AddRouteTargets: RoleAdmin,
	RenameRoute:     RoleAdmin,
	DuplicateRoute:  RoleAdmin,
	DeleteRoute:     RoleAdmin,

	GetGovernanceConfig:    RoleAdmin,
	UpdateGovernanceConfig: RoleAdmin,

	ListAPIKeys:  RoleAdmin,
	CreateAPIKey: RoleAdmin,
	GetAPIKey:    RoleAdmin,
	UpdateAPIKey: RoleAdmin,
	RevokeAPIKey: RoleAdmin,
	RotateAPIKey: RoleAdmin,

	ListModelPricing:           RoleAdmin,
	CreateModelPricing:         RoleAdmin,
	UpdateModelPricing:         RoleAdmin,
	DeleteModelPricing:         RoleAdmin,
	RestoreModelPricing:        RoleAdmin,
	GetModelPricingVersion:     RoleAdmin,
	ListModelPricingHistory:    RoleAdmin,
	ListArchivedModelPricing:   RoleAdmin,
	ListModelPricingDefaults:   RoleAdmin,
	ImportModelPricingDefaults: RoleAdmin,
	SyncModelPricingDefaults:   RoleAdmin,

	ListRateLimits:      RoleAdmin,
	CreateRateLimit:     RoleAdmin,
	GetRateLimit:        RoleAdmin,
	UpdateRateLimit:     RoleAdmin,
	DeleteRateLimit:     RoleAdmin,
	ListRateLimitStatus: RoleAdmin,

	ListBudgets:      RoleAdmin,
	CreateBudget:     RoleAdmin,
	GetBudget:        RoleAdmin,
	UpdateBudget:     RoleAdmin,
	DeleteBudget:     RoleAdmin,
	ListBudgetStatus: RoleAdmin,

	ListRoutingPolicies: RoleAdmin,
	CreateRoutingPolicy: RoleAdmin,
	GetRoutingPolicy:    RoleAdmin,
	UpdateRoutingPolicy: RoleAdmin,
	DeleteRoutingPolicy: RoleAdmin,

	ListRoutingRules:  RoleAdmin,
	CreateRoutingRule: RoleAdmin,
	GetRoutingRule:    RoleAdmin,
	UpdateRoutingRule: RoleAdmin,
	DeleteRoutingRule: RoleAdmin,

	GetConfigStatus: RoleAdmin,
	ListNodes:       RoleAdmin,
	WatchChanges:    RoleAdmin,
	WatchOwnChanges: RoleMember,

	ListAuditEvents: RoleAdmin,

	ListConnections:  RoleAdmin,
	CreateConnection: RoleAdmin,
	GetConnection:    RoleAdmin,
	UpdateConnection: RoleAdmin,
	DeleteConnection: RoleAdmin,

	ListUsers:         RoleAdmin,
	CreateUser:        RoleAdmin,
	GetUser:           RoleAdmin,
	UpdateUser:        RoleAdmin,
	DeleteUser:        RoleAdmin,
	ListUserSessions:  RoleAdmin,
	EndUserSessions:   RoleAdmin,
	ListGroups:        RoleAdmin,
	CreateGroup:       RoleAdmin,
	GetGroup:          RoleAdmin,
	UpdateGroup:       RoleAdmin,
	DeleteGroup:       RoleAdmin,
	AddGroupMembers:   RoleAdmin,
	RemoveGroupMember: RoleAdmin,
	ProbeProvider:     RoleAdmin,

	ValidateProvider:     RoleAdmin,
	GetAwsRoleConfig:     RoleAdmin,
	GetAwsTrustInfo:      RoleAdmin,
	ValidateAwsRole:      RoleAdmin,
	ValidateGoogleVertex: RoleAdmin,

	GetSession:      RoleMember,
	Logout:          RoleMember,
	GetProfile:      RoleMember,
	UpdateProfile:   RoleMember,
	ChangePassword:  RoleMember,
	ListOwnSessions: RoleMember,
	EndOwnSession:   RoleMember,
	ListOwnAPIKeys:  RoleMember,
	CreateOwnAPIKey: RoleMember,
	GetOwnAPIKey:    RoleMember,
	UpdateOwnAPIKey: RoleMember,
	RevokeOwnAPIKey: RoleMember,
	RotateOwnAPIKey: RoleMember,
	ListOwnModels:   RoleMember,

	ListRouteHealth:  RoleAdmin,
	ResetRouteHealth: RoleAdmin,
	ClassifyResult:   RoleAdmin,
	ExplainRequest:   RoleAdmin,
}

// LeastRole returns the least role that may perform op; false: the operation is
// not in the table.
func LeastRole(op Operation) (Role, bool) {
	role, ok := permissions[op]
	return role, ok
}

// Permit returns nil when the principal may perform op.
func (p Principal) Permit(op Operation) error {
	least, ok := permissions[op]
	if !ok || rank[p.Role] < rank[least] || p.UserID == uuid.Nil && slices.Contains(personal, op) {
		return NotPermitted()
	}
	return nil
}

// personal are the operations on what is the caller's own, which a machine has none of.
var personal = []Operation{GetProfile, UpdateProfile, ChangePassword, ListOwnSessions, EndOwnSession,
	ListOwnAPIKeys, CreateOwnAPIKey, GetOwnAPIKey, UpdateOwnAPIKey, RevokeOwnAPIKey, RotateOwnAPIKey}

// ServiceAccount is a machine that may call the admin API. Its secret is known
// only as a SHA-256.
type ServiceAccount struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Name           string
	Role           Role
	SecretHash     [32]byte
}

// Principal is the account as a caller.
func (a ServiceAccount) Principal() Principal {
	return Principal{OrganizationID: a.OrganizationID, ServiceAccountID: a.ID, Name: a.Name, Role: a.Role}
}

// Operations returns every operation in the permission table, sorted.
func Operations() []Operation { return slices.Sorted(maps.Keys(permissions)) }
