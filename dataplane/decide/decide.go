// Package decide is the pure core of the data plane: it compiles a snapshot into
// what requests read, finds the caller and the route, chooses the next target,
// says what an upstream result means, and folds health events into cooldowns.
// Time comes in as an argument, chance as a number derived from the request, and
// nothing here does I/O, so that every rule can be tested offline and the control
// plane can run the same code to explain or to refuse.
package decide

// Reason is why a target was skipped or failed, or a request refused. Logs, the
// error's attempt list and the admin API show the same words.
type Reason string

// Reasons a target is skipped. The first eight are not failures and end only when
// the configuration changes, the next three only when the request does.
const (
	NotAllowed            Reason = "access_denied" // the caller may not use it
	TargetDisabled        Reason = "target_disabled"
	ProviderDisabled      Reason = "provider_disabled"
	ProviderModelDisabled Reason = "provider_model_disabled"
	ProviderNotServing    Reason = "provider_not_serving"
	NotSupported          Reason = "not_supported" // this node cannot speak to that family yet
	WrongDialect          Reason = "dialect_not_supported"
	// AmbientForbidden is for targets that would use the node's own identity in its cloud.
	AmbientForbidden Reason = "ambient_credentials_not_allowed"
	CannotTranslate  Reason = "cannot_translate" // the target speaks another dialect, which has no words for the request
	// OtherEmbeddingModel is for targets whose vectors cannot be compared with those that
	// the route's callers already have.
	OtherEmbeddingModel Reason = "different_embedding_model"
	CoolingDown         Reason = "cooling_down"
	Recovering          Reason = "recovering"         // all probe slots are taken
	returning           Reason = "returning"          // recovered a moment ago, and not this request's turn yet
	CredentialMissing   Reason = "credential_missing" // a passthrough target, and the caller brought no token
	CredentialCooling   Reason = "credential_cooling_down"
	CredentialRejected  Reason = "credential_rejected" // cooling down because the provider rejected it
)

// configured reports whether the reason lies in the configuration or the request: no
// waiting will make the target serve.
func (r Reason) configured() bool {
	switch r {
	case NotAllowed, TargetDisabled, ProviderDisabled, ProviderModelDisabled, ProviderNotServing, NotSupported, AmbientForbidden, WrongDialect, CannotTranslate, OtherEmbeddingModel:
		return true
	}
	return false
}
