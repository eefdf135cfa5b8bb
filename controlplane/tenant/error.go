package tenant

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Kind says what the caller should do about an Error.
type Kind string

// The kinds of errors. Any other error is internal: none of the caller's business.
const (
	KindInvalid         Kind = "invalid"         // change the value
	KindUnprocessable   Kind = "unprocessable"   // the value does not fit its type
	KindUnauthenticated Kind = "unauthenticated" // identify yourself
	KindForbidden       Kind = "forbidden"       // ask someone with another role
	KindNotFound        Kind = "not_found"       // the organization has no such thing
	KindConflict        Kind = "conflict"        // it contradicts what is stored
	KindStale           Kind = "stale"           // read it again
	KindUnavailable     Kind = "unavailable"     // try again
	KindTooMany         Kind = "too_many"        // try again later
)

// Error is the only error that crosses the domain. Its text is for the caller.
type Error struct {
	Kind    Kind
	Message string
	Code    string // a stable word for the case, or empty
	Param   string // the field at fault, or empty

	RetryAfter time.Duration // of KindTooMany
}

func (e *Error) Error() string { return e.Message }

// Invalid is a value that fits its type but is not allowed.
func Invalid(param, format string, args ...any) error {
	return &Error{Kind: KindInvalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Unservable is a provider's field for which no node could ask for a model of it.
func Unservable(field, family, upstreamModel string) error {
	return Invalid(field, "%s: no node could ask the model provider '%s' for the model '%s' with this", field, family, upstreamModel)
}

// OfProvider is err where it is the fault of a provider that the request only names.
func OfProvider(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	return Invalid("provider_id", "provider_id: the provider's %s", e.Message)
}

// Conflict is a value that contradicts what is stored.
func Conflict(param, message string) error {
	return &Error{Kind: KindConflict, Param: param, Message: message}
}

// Unavailable is what the control plane cannot do without the data plane.
func Unavailable() error {
	return &Error{Kind: KindUnavailable, Code: "unavailable", Message: "the data plane cannot be reached just now"}
}

// Unauthenticated is a caller who is not known.
func Unauthenticated(message string) error {
	return &Error{Kind: KindUnauthenticated, Message: message}
}

// NotPermitted is for a caller who is known and may not.
func NotPermitted() error {
	return &Error{Kind: KindForbidden, Message: "principal is not permitted to perform this action"}
}

// CrossSite is for a request that a browser may have been made to send by another site.
func CrossSite() error {
	return &Error{Kind: KindForbidden, Code: "cross_site",
		Message: "a request with a session must show that it comes from this site: by its Origin, or by an X-Spillway-Request header"}
}

// SignInRefused is for everything that keeps somebody from signing in: which of them it
// was is not said.
func SignInRefused() error {
	return &Error{Kind: KindUnauthenticated, Code: "sign_in_refused",
		Message: "the email address or the password is wrong; with accounts in several organizations, name the organization"}
}

// TooManyAttempts is for sign-ins that come faster than a person types.
func TooManyAttempts(wait time.Duration) error {
	return &Error{Kind: KindTooMany, Code: "too_many_attempts", Message: "too many attempts to sign in: try again later", RetryAfter: wait}
}

// TooManyStreams is for a caller that has as many streams of events open as it may.
func TooManyStreams(most int) error {
	return &Error{Kind: KindTooMany, Code: "too_many_streams", Message: fmt.Sprintf("at most %d streams of events at a time", most), RetryAfter: 10 * time.Second}
}

// WrongPassword is for a change of a password whose old one is wrong.
func WrongPassword() error { return Invalid("current_password", "current_password is wrong") }

// EmailTaken is for an address that another account of the organization has.
func EmailTaken() error {
	return &Error{Kind: KindConflict, Code: "email_taken", Param: "email", Message: "An account with this email address already exists."}
}

// GroupNameTaken is like ProviderNameTaken.
func GroupNameTaken() error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "name", Message: "A group with this name already exists."}
}

// LastAdmin is for a change after which nobody could administer the organization.
func LastAdmin() error {
	return &Error{Kind: KindConflict, Code: "last_admin", Message: "the organization would be left without an enabled administrator"}
}

// DisabledByAdmin is for a key that its user may not enable.
func DisabledByAdmin() error {
	return &Error{Kind: KindForbidden, Code: "disabled_by_admin", Message: "an administrator disabled this key: only an administrator enables it again"}
}

// NeverProbed is for a provider without a credential of the gateway's to check.
func NeverProbed() error {
	return &Error{Kind: KindInvalid, Code: "never_probed", Message: "a provider that passes on the caller's own token is never checked: the gateway has no credential to check it with"}
}

// NoAWSRole is for a credential that no role trusts.
func NoAWSRole(authType string) error {
	return &Error{Kind: KindInvalid, Code: "no_aws_role", Message: fmt.Sprintf("the credential is no role of AWS: its auth_type is '%s'", authType)}
}

// NoSession is for a caller who signs out and did not sign in.
func NoSession() error {
	return &Error{Kind: KindInvalid, Code: "no_session", Message: "the request has no session to end"}
}

// UserNotFound, GroupNotFound and SessionNotFound are like ProviderNotFound.
func UserNotFound(id uuid.UUID) error { return notFound("user", id) }

// GroupNotFound is like ProviderNotFound.
func GroupNotFound(id uuid.UUID) error { return notFound("group", id) }

// SessionNotFound is like ProviderNotFound.
func SessionNotFound(id uuid.UUID) error { return notFound("session", id) }

// UnknownUser is for a person that a body refers to.
func UnknownUser(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "user_ids", Message: fmt.Sprintf("user %s not found", id)}
}

// NotAMember is for a person who is to leave a group and is not in it.
func NotAMember(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "user_id", Message: fmt.Sprintf("user %s is not in the group", id)}
}

// ProviderNotFound, MappingNotFound and APIKeyNotFound are for the id of the
// request itself; a row of another organization gets the same answer.
func ProviderNotFound(id uuid.UUID) error { return notFound("provider", id) }

// MappingNotFound is like ProviderNotFound.
func MappingNotFound(id uuid.UUID) error { return notFound("model mapping", id) }

// APIKeyNotFound is like ProviderNotFound.
func APIKeyNotFound(id uuid.UUID) error { return notFound("api key", id) }

// PriceNotFound is for a version of a price, like ProviderNotFound.
func PriceNotFound(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Message: fmt.Sprintf("pricing version %s not found in this org", id)}
}

// PriceInstantTaken is for a second version of a rule at the same instant.
func PriceInstantTaken() error {
	return &Error{Kind: KindConflict, Code: "instant_taken", Param: "effective_from", Message: "A version of this price already takes effect at this instant."}
}

// PriceRequired is for an enabled target without a price, where the organization demands
// one.
func PriceRequired(upstream string) error {
	return &Error{Kind: KindInvalid, Code: "price_required", Param: "upstream_model", Message: "'" + upstream +
		"' has no price on this provider, and the organization requires one: add it under model pricing, or leave the row disabled"}
}

// UnknownPriceDefault is for a shipped price that a body refers to.
func UnknownPriceDefault(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "ids", Message: fmt.Sprintf("pricing default %s not found", id)}
}

func notFound(what string, id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Message: fmt.Sprintf("%s {id: %s} not found", what, id)}
}

// UnknownProvider is for a provider that a body refers to.
func UnknownProvider(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "provider_id", Message: fmt.Sprintf("provider %s not found", id)}
}

// UnknownAPIKey is for a gateway key that a body refers to.
func UnknownAPIKey(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "api_key_id", Message: fmt.Sprintf("api key %s not found", id)}
}

// Uncompilable is for a configuration that the nodes refuse.
func Uncompilable(err error) error {
	return &Error{Kind: KindConflict, Code: "does_not_compile", Message: "the nodes refuse the stored configuration: " + err.Error()}
}

// UnknownConnection is for a shared credential that a body refers to.
func UnknownConnection(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "connection_id", Message: fmt.Sprintf("connection %s not found", id)}
}

// ConnectionNotFound is like ProviderNotFound.
func ConnectionNotFound(id uuid.UUID) error { return notFound("connection", id) }

// ConnectionNameTaken is like ProviderNameTaken.
func ConnectionNameTaken() error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "name", Message: "A connection with this name already exists."}
}

// ConnectionInUse is for a change of a connection that the providers using it forbid.
func ConnectionInUse(providers int, what string) error {
	return &Error{Kind: KindConflict, Code: "connection_in_use", Message: fmt.Sprintf("the connection is used by %d provider(s): %s", providers, what)}
}

// ProviderNameTaken is for a name that another provider answers to.
func ProviderNameTaken() error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "name", Message: "A provider with this name already exists."}
}

// MappingExists is for a second row of the same alias, model and provider.
func MappingExists() error {
	return &Error{Kind: KindConflict, Code: "mapping_exists", Param: "model_alias",
		Message: "A mapping of this alias to this model on this provider already exists."}
}

// ModelNotEnabled is for a route to a model without its 1:1 enablement.
func ModelNotEnabled(upstream string) error {
	return &Error{Kind: KindInvalid, Code: "model_not_enabled", Param: "upstream_model", Message: "Cannot route to '" + upstream +
		"' on this provider: the model is not enabled. Enable it under LLM Configuration → Models first, then create the route."}
}

// KeyRevoked is for a change to a key that is gone for good.
func KeyRevoked() error {
	return &Error{Kind: KindConflict, Code: "key_revoked", Message: "the api key is revoked"}
}

// KeyReused is for an Idempotency-Key that stands for another request.
func KeyReused() error {
	return &Error{Kind: KindUnprocessable, Code: "idempotency_key_reused", Param: "Idempotency-Key",
		Message: "the Idempotency-Key was used with another request: choose a new one"}
}

// KeyInUse is for an Idempotency-Key whose first call has not ended.
func KeyInUse() error {
	return &Error{Kind: KindConflict, Code: "idempotency_key_in_use", Param: "Idempotency-Key",
		Message: "a call with this Idempotency-Key is being made: try again"}
}

// AnswerNotKept is for an Idempotency-Key whose call was made, and whose answer is not
// there: it showed a secret, or was lost.
func AnswerNotKept(resource *uuid.UUID) error {
	message := "the call with this Idempotency-Key was made, and its answer is not kept"
	if resource != nil {
		message += ": see " + resource.String()
	}
	return &Error{Kind: KindConflict, Code: "idempotency_key_used", Param: "Idempotency-Key", Message: message}
}

// InModels says that an error is about a name in a provider's models.
func InModels(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Kind: e.Kind, Code: e.Code, Param: "models", Message: "models: " + e.Message}
	}
	return err
}
