package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// exchange is one request and what became of it.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // ends when the caller leaves
	id      string
	seed    uint64
	dialect llm.Dialect // the caller's
	to      llm.Dialect // what the target is asked in
	body    []byte      // as targets of the dialect are sent it
	control llm.Control
	org     *decide.Org
	route   *decide.Route
	run     decide.Run
	result  decide.Result
	token   string     // the caller's own upstream credential: an Authorization header, or empty
	own     decide.Own // the same as decisions know it; the credential itself goes to its vendor and nowhere else
	across  crossing   // what is kept for targets of other dialects
	bare    *bareBody  // what the target that is tried now is sent instead of body, or nil
	keeper  keeper     // of the connection to the caller of a stream
	started bool       // the caller has been sent some of an answer: no other target may give one
	patient time.Time  // until when the caller may leave what is written unread
	metrics *Metrics
	surface string    // as metrics name it
	status  int       // what the caller was sent; 0: nothing yet
	at      moments   // when what happened
	values  [8]string // of the answer's headers, so that they need no allocation each
	used    int
}

// moments are when a request got how far; zero: not yet.
type moments struct{ came, body, head time.Time }

// set sets a header of the answer; name is in canonical form.
func (x *exchange) set(name, value string) {
	if x.used == len(x.values) {
		x.w.Header()[name] = []string{value}
		return
	}
	x.values[x.used] = value
	x.used++
	x.w.Header()[name] = x.values[x.used-1 : x.used : x.used]
}

// Header names, in the form net/http keeps them in.
const (
	headerRequestID     = "X-Bd-Request-Id"
	headerAttempt       = "X-Bd-Provider-Route-Attempt"
	headerCount         = "X-Bd-Provider-Route-Count"
	headerFailoverCount = "X-Bd-Provider-Failover-Count"
	headerErrorOrigin   = "X-Bd-Error-Origin"
)

// Whose error an answer is.
const (
	originGateway  = "gateway"
	originProvider = "provider"
)

// exchange begins one request; end must follow.
func (h *Handler) exchange(w http.ResponseWriter, r *http.Request, d llm.Dialect, surface string) *exchange {
	seed := rand.Uint64()
	x := &exchange{w: w, r: r, ctx: r.Context(), dialect: d, seed: seed, metrics: h.cfg.Metrics, surface: surface, at: moments{came: time.Now()}}
	x.metrics.began()
	var id [20]byte
	x.id = string(strconv.AppendUint(append(id[:0], "req_"...), seed|1<<63, 36))
	x.set(headerRequestID, x.id)
	return x
}

// authenticate finds the caller by the gateway key: in x-bd-api-key, x-api-key,
// then Authorization, told from the caller's other credentials by its prefix.
func (h *Handler) authenticate(r *http.Request) (decide.Caller, *llm.Error) {
	header := r.Header
	if len(header["Authorization"]) > 1 || len(header["X-Api-Key"]) > 1 || len(header["X-Bd-Api-Key"]) > 1 {
		return decide.Caller{}, &llm.Error{Status: http.StatusBadRequest, Code: "duplicate_credential", Message: "a credential header is given twice"}
	}
	if refusal := twin(header); refusal != nil {
		return decide.Caller{}, refusal
	}
	key := gatewayKey(header)
	if key == "" {
		return decide.Caller{}, &llm.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key",
			Message: "no gateway key: send your bd-... key in x-bd-api-key, x-api-key or Authorization: Bearer"}
	}
	if node.WellFormedKey(key) {
		now := time.Now()
		if caller, ok := h.cfg.Table().Lookup(node.HashKey(key), now); ok {
			if h.cfg.Used != nil && caller.Key.Use.Note(now) {
				h.cfg.Used(caller.Key.Use)
			}
			return caller, nil
		}
	}
	return decide.Caller{}, decide.InvalidKey()
}

func gatewayKey(header http.Header) string {
	for _, name := range [...]string{"X-Bd-Api-Key", "X-Api-Key"} {
		if v := header[name]; len(v) == 1 && strings.HasPrefix(v[0], node.KeyPrefix) {
			return v[0]
		}
	}
	if v := header["Authorization"]; len(v) == 1 {
		scheme, token, _ := strings.Cut(v[0], " ")
		if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(token, node.KeyPrefix) {
			return token
		}
	}
	return ""
}

// takeOwnCredential keeps the second credential of a request: a bearer token that a
// vendor of subscriptions gave out, which is that of the key's owner.
func (x *exchange) takeOwnCredential(hashKey []byte, key *decide.Key) {
	v := x.r.Header["Authorization"]
	if len(v) != 1 || v[0] == "" {
		return
	}
	scheme, token, _ := strings.Cut(v[0], " ")
	token = strings.TrimSpace(token)
	vendor := decide.VendorOf(token)
	if !strings.EqualFold(scheme, "Bearer") || vendor == decide.NoVendor {
		return
	}
	mac := hmac.New(sha256.New, hashKey)
	mac.Write([]byte(token))
	x.token, x.own = v[0], decide.Own{Vendor: vendor, Hash: hex.EncodeToString(mac.Sum(nil)[:16])}
	if key.UserID != nil {
		x.own.User = *key.UserID
	}
}

// read buffers the body, since failover may have to send it again, and reads its
// control fields.
func (x *exchange) read() *llm.Error {
	if x.r.ContentLength > maxBody {
		return tooLarge()
	}
	rc := http.NewResponseController(x.w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyDeadline)) // not supported by test recorders only
	body, err := readBody(x.r)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case err != nil:
		return &llm.Error{Status: http.StatusBadRequest, Code: "unreadable_body", Message: "the request body ended early or came too slowly"}
	}
	x.at.body = time.Now()
	_ = rc.SetReadDeadline(time.Time{}) // else the caller would seem to leave when it passes
	body, refusal := decoded(x.r.Header.Get("Content-Encoding"), body)
	if refusal != nil {
		return refusal
	}
	written := body
	body = llm.Native(x.dialect, body)
	control, err := llm.Scan(body)
	var scan *llm.ScanError
	if errors.As(err, &scan) {
		return &llm.Error{Status: http.StatusBadRequest, Code: "invalid_body", Param: scan.Param, Message: scan.Text}
	}
	control.Stream = control.Stream && x.dialect != llm.Embeddings // there are no streams of vectors
	x.body, x.control, x.across.written = body, control, written
	return nil
}

func tooLarge() *llm.Error {
	return &llm.Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large", Message: fmt.Sprintf("the request body is larger than %d MiB", maxBody>>20)}
}

// readBody trusts a declared length only as far as bytes have come, so that a
// caller cannot make the node set memory aside that it never sends anything for.
func readBody(r *http.Request) ([]byte, error) {
	const trusted = 512 << 10
	n := r.ContentLength
	if n < 0 {
		return io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	}
	body := make([]byte, min(n, trusted))
	got, err := io.ReadFull(r.Body, body)
	for err == nil && int64(got) < n {
		// What came is worth four times as much trust.
		body = append(make([]byte, 0, min(n, 4*int64(got))), body...)
		body = body[:cap(body)]
		var more int
		more, err = io.ReadFull(r.Body, body[got:])
		got += more
	}
	return body, err
}

func (x *exchange) begin(route *decide.Route, access *decide.Access) {
	x.route = route
	x.run = decide.NewRun(route, x.dialect, x.seed, x.own, access)
	x.set(headerCount, strconv.Itoa(len(route.Targets)))
}

// sleep waits, or returns false when the caller has left.
func (x *exchange) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// serve starts a good answer that is sent whole.
func (x *exchange) serve(t *decide.Target, status int) {
	x.served(t)
	x.started = true
	x.head(status)
}

// served says in the header who serves the request, or a stream that is kept waiting: who
// is to.
func (x *exchange) served(t *decide.Target) {
	x.set(headerAttempt, strconv.Itoa(t.Position))
	x.set(headerFailoverCount, strconv.Itoa(x.run.Failed))
}

// head sends the status.
func (x *exchange) head(status int) {
	x.status, x.at.head = status, time.Now()
	x.w.WriteHeader(status)
}

// end tells the metrics of the request.
func (x *exchange) end() {
	x.quiet()
	x.metrics.ended(x)
}

// send writes to the caller, and reports whether it still takes what it is sent. A
// large answer goes in pieces with a deadline each: who reads slowly gets all of it.
func (x *exchange) send(b []byte) bool {
	const piece = 64 << 10
	for {
		n := min(len(b), piece)
		x.patient = expectReading(x.w, x.patient)
		if _, err := x.w.Write(b[:n]); err != nil {
			return false
		}
		if b = b[n:]; len(b) == 0 {
			return true
		}
	}
}

// expectReading lets writes fail when the caller has not read for writeTimeout, so that
// one who never does holds nothing for long. It returns the deadline, and moves the last
// one only where there is something to win.
func expectReading(w http.ResponseWriter, last time.Time) time.Time {
	now := time.Now()
	if last.Sub(now) >= writeTimeout-writeTimeout/8 {
		return last
	}
	_ = http.NewResponseController(w).SetWriteDeadline(now.Add(writeTimeout)) // not supported by test recorders only
	return now.Add(writeTimeout)
}

// refuse answers with an error of the gateway's own.
func (x *exchange) refuse(e *llm.Error) {
	x.fail(e, originGateway)
}

func (x *exchange) fail(e *llm.Error, origin string) {
	if x.keeper.open { // the status is sent, and what can still be told is an event
		x.tell(x.dialect.ErrorEvent(e, x.id, &llm.Trail{}))
		return
	}
	x.set(headerErrorOrigin, origin)
	x.set("Request-Id", x.id)
	x.set("X-Request-Id", x.id)
	x.set("Content-Type", "application/json")
	if e.Final() {
		x.set("X-Should-Retry", "false") // SDKs retry what cannot get better
	}
	body := x.dialect.Envelope(e, x.id)
	x.set("Content-Length", strconv.Itoa(len(body)))
	x.head(e.Status)
	x.send(body)
}

// answerHeader copies what of a provider's headers goes to the caller. contentType is
// that of an answer which was translated.
func (x *exchange) answerHeader(from http.Header, passthrough bool, contentType string) {
	if x.across.now != nil {
		upstream.CrossedHeader(x.w.Header(), from, contentType)
		return
	}
	upstream.AnswerHeader(x.w.Header(), from, passthrough)
}

// exhausted answers when no target served, with what happened to each.
func (x *exchange) exhausted(e decide.Exhausted) {
	x.set(headerFailoverCount, strconv.Itoa(x.run.Failed))
	if e.RetryAfter > 0 {
		x.set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	origin := originGateway
	if e.Tried {
		origin = originProvider
	}
	x.fail(e.Error(x.run.Attempts), origin)
}

// passOn gives the caller a provider's own refusal as the provider said it, since
// tools recover by its wording.
func (x *exchange) passOn(a *answer) {
	if x.keeper.open {
		x.tell(x.dialect.Failure(a.body, x.id, &llm.Trail{}, a.metadata))
		return
	}
	header := x.w.Header()
	x.answerHeader(a.header, a.passthrough, "application/json")
	if a.rewritten {
		x.set("Content-Type", "application/json")
	}
	x.set(headerErrorOrigin, originProvider)
	x.set(headerFailoverCount, strconv.Itoa(x.run.Failed))
	if header["Request-Id"] == nil {
		x.set("Request-Id", x.id)
	}
	if header["X-Request-Id"] == nil {
		x.set("X-Request-Id", x.id)
	}
	x.set("Content-Length", strconv.Itoa(len(a.body)))
	x.head(a.status)
	x.send(a.body)
}
