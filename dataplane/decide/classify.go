package decide

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Phase is how far an attempt got.
type Phase uint8

// Phases of an attempt.
const (
	Dialing   Phase = iota // no connection: the provider saw nothing
	Sent                   // the request may have been read; no answer came
	Answered               // status and headers came
	Committed              // content came: the caller may have seen some of it
)

// Cause is why an attempt ended without a usable answer.
type Cause uint8

// Causes. NoCause means that the answer itself is the evidence.
const (
	NoCause           Cause = iota
	Refused                 // the connection could not be made
	Broken                  // the connection ended in the middle
	TimedOut                // the try's time was up, or the stream fell silent
	CallerGone              // the caller left: it says nothing of the provider
	NotAnAnswer             // a 2xx that is no answer: HTML, no JSON, nothing, cut short
	ErrorInside             // a 2xx stream that reports an error
	GatewayFault            // this node could not make the attempt
	CredentialRefused       // the vendor's token service refused the provider's credential
)

// Evidence is what is known of one attempt. Classify reads all of it.
type Evidence struct {
	Phase  Phase
	Cause  Cause
	Status int // 0 when no answer came
	Header http.Header
	Body   []byte // of an error, or the error inside a stream; a prefix is enough
	Now    time.Time
}

// Class is what an upstream result means.
type Class string

// Classes of result. What each does stands in the table behind class.traits.
const (
	Succeeded     Class = "ok"
	AuthRejected  Class = "auth_rejected"
	ModelNotFound Class = "model_not_found"
	RateLimited   Class = "rate_limited"
	UsageLimit    Class = "usage_limit"
	Entitlement   Class = "entitlement" // a 429 that waiting does not cure
	Overloaded    Class = "overloaded"
	ServerError   Class = "server_error"
	Timeout       Class = "timeout"
	Connection    Class = "connection"
	BadAnswer     Class = "bad_answer"
	BadRequest    Class = "invalid_request" // the caller's: another target would say the same
	Canceled      Class = "canceled"
	Internal      Class = "internal" // this node's own fault
	Unknown       Class = "unknown"
)

// traits is what a class does: whether another target may do better, and what it
// says of the target's health.
type traits struct {
	failover bool
	health   node.HealthKind
}

var classTraits = map[Class]traits{
	AuthRejected:  {failover: true, health: node.HealthFailure},
	ModelNotFound: {failover: true},
	RateLimited:   {failover: true, health: node.HealthRateLimited},
	UsageLimit:    {failover: true, health: node.HealthUsageLimit},
	Entitlement:   {failover: true},
	Overloaded:    {failover: true, health: node.HealthOverloaded},
	ServerError:   {failover: true, health: node.HealthFailure},
	Timeout:       {failover: true, health: node.HealthFailure},
	Connection:    {failover: true, health: node.HealthFailure},
	BadAnswer:     {failover: true, health: node.HealthFailure},
	Internal:      {failover: true},
}

// Verdict is what Classify says of an attempt.
type Verdict struct {
	Class      Class
	Failover   bool            // the next target may be tried; never after Committed
	Committed  bool            // content had come: the caller may have seen some of it
	Health     node.HealthKind // empty: says nothing of the target's health
	RetryAfter time.Duration   // what the provider asked for
	HasRetry   bool            // whether it asked
	Status     int
	Message    string // bounded and without addresses, for the attempt list
}

// Classify is total: every evidence has a verdict, and what nobody recognises
// does the least (no failover, no cooldown).
func Classify(e Evidence) Verdict {
	var said llm.Said
	if len(e.Body) > 0 {
		said = llm.ReadError(e.Body)
	}
	class := classOf(e, said)
	t := classTraits[class]
	v := Verdict{Class: class, Failover: t.failover && e.Phase != Committed, Committed: e.Phase == Committed, Health: t.health, Status: e.Status, Message: message(class, e, said)}
	switch class {
	case RateLimited, Overloaded, UsageLimit:
		v.RetryAfter, v.HasRetry = RetryAfter(e.Header, said, e.Now)
	}
	return v
}

func classOf(e Evidence, said llm.Said) Class {
	switch e.Cause {
	case CallerGone:
		return Canceled
	case Refused, Broken:
		return Connection
	case TimedOut:
		return Timeout
	case NotAnAnswer:
		return BadAnswer
	case GatewayFault:
		return Internal
	case CredentialRefused:
		return AuthRejected
	case ErrorInside:
		return insideClass(said)
	}
	if e.Status >= 200 && e.Status < 300 {
		return Succeeded
	}
	if class := ruleFor(e.Status, said); class != "" {
		return class
	}
	return statusClass(e.Status)
}

// WholeCause is what is wrong with a 2xx that was read to its end, in the dialect that
// the target was asked in; streamed is whether the caller asked for a stream, which a whole answer
// is not.
func WholeCause(d llm.Dialect, streamed bool, body []byte) Cause {
	switch kind := d.ReadAnswer(body); {
	case kind == llm.NoAnswer, kind == llm.RealAnswer && streamed:
		return NotAnAnswer
	case kind == llm.ErrorAnswer:
		return ErrorInside
	}
	return NoCause
}

// insideClass judges an error reported inside a 2xx by what it says: overload is
// a 529, a rate limit a 429, the rest a 5xx.
func insideClass(said llm.Said) Class {
	if class := ruleFor(statusOfType(said), said); class != "" {
		return class
	}
	switch class := statusClass(statusOfType(said)); class {
	case RateLimited, Overloaded:
		return class
	}
	return ServerError
}

// statusOfType is the status that a provider would have sent with an error type.
func statusOfType(said llm.Said) int {
	switch said.Type {
	case "overloaded_error":
		return 529
	case "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED":
		return http.StatusTooManyRequests
	}
	switch said.Code {
	case "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "server_is_overloaded", "overloaded":
		return 529
	}
	return said.NumericCode()
}

func statusClass(status int) Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return AuthRejected
	case status == http.StatusPaymentRequired:
		return UsageLimit
	case status == http.StatusNotFound:
		return ModelNotFound
	case status == http.StatusRequestTimeout:
		return Timeout
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == 529, status == 498: // Groq's flex capacity is used up: https://console.groq.com/docs/errors
		return Overloaded
	case status >= 500:
		return ServerError
	case status >= 300 && status < 400, status < 200:
		return BadAnswer // redirects are never followed
	}
	switch status {
	case 400, 405, 406, 409, 410, 411, 413, 414, 415, 416, 417, 422, 424, 428, 431, 451:
		return BadRequest
	}
	return Unknown
}

var addresses = regexp.MustCompile(`https?://\S+`)

// maxMessage bounds a message in the attempt list, in bytes.
const maxMessage = 300

// message is the attempt's message: the gateway's own words where the provider's
// could name a credential or an address, else the provider's, bounded.
func message(class Class, e Evidence, said llm.Said) string {
	switch {
	case class == Succeeded || class == Canceled:
		return ""
	case e.Cause == Refused:
		return "the connection to the provider could not be made"
	case e.Cause == Broken:
		return "the connection to the provider broke"
	case e.Cause == TimedOut:
		return "the provider did not answer in time"
	case e.Cause == NotAnAnswer:
		return "the provider's answer was not a model's answer"
	case e.Cause == GatewayFault:
		return "the gateway could not make the attempt"
	case class == AuthRejected:
		return "the provider rejected the credential"
	}
	text := said.Message
	if strings.Contains(text, "://") {
		text = addresses.ReplaceAllString(text, "(address)")
	}
	return bounded(text)
}

func bounded(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for cut > 0 && text[cut]&0xc0 == 0x80 { // not inside a character
		cut--
	}
	return text[:cut] + "…"
}
