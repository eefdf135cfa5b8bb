// Package gateway is the data plane's HTTP door: it authenticates a request, reads
// what it needs of it, walks the route's targets until one serves, and relays the
// answer. No middleware changes a request, and nothing but deadline and
// cancellation travels in a context.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// Health is where attempts report what they saw of a target.
type Health interface {
	// Now is the time that cooldowns are measured in.
	Now() time.Time
	// Reserve takes the fleet's slots for an attempt that is a probe, and reports whether
	// it may go on. The admission's release gives them back.
	Reserve(ctx context.Context, t *decide.Target, a *decide.Admission) bool
	// Observe takes the verdict on an attempt that was admitted with a; own is the
	// caller's own upstream credential.
	Observe(t *decide.Target, a *decide.Admission, v decide.Verdict, own decide.Own)
}

// Config says what a Handler needs; all fields but the two last are required.
type Config struct {
	// Table returns the running configuration; a request calls it once.
	Table func() *decide.Table
	// Ready reports whether the node has its configuration and is not stopping.
	Ready func() bool
	// Alone reports whether the node is cut off from the bus: it serves, and says so.
	// Nil: never.
	Alone    func() bool
	Upstream *upstream.Client
	Health   Health
	// Used takes that a gateway key is in use, now and then for each; nil: nobody wants to know.
	Used func(*decide.KeyUse)
	// HashKey makes hashes of callers' own credentials useless to anyone who does not
	// have it. The same on every node.
	HashKey []byte
	Metrics *Metrics // nil: nobody is told of any
	Log     *slog.Logger
}

// Handler serves the callers' endpoints.
type Handler struct {
	cfg Config
}

// New returns a handler.
func New(cfg Config) *Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	return &Handler{cfg: cfg}
}

// Limits of a request.
const (
	maxBody      = 32 << 20
	bodyDeadline = 60 * time.Second // for reading a request's body
	// refusedDeadline is for the body of a request that is refused before it was read; less
	// than writeTimeout, or the refusal would be late.
	refusedDeadline = 5 * time.Second
	writeTimeout    = 30 * time.Second // for a caller to take some of its answer
	// MaxHeaderBytes and ReadHeaderTimeout are for the http.Server around a Handler.
	MaxHeaderBytes    = 32 << 10
	ReadHeaderTimeout = 5 * time.Second
)

// ServeHTTP routes by exact path. Every path stands under "/" and under
// "/api/llm-gateway".
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http reads the body of a refused request before it answers.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedDeadline)) // not supported by test recorders only
	path := strings.TrimPrefix(r.URL.Path, "/api/llm-gateway")
	if ambiguous(r) {
		h.refuseAmbiguous(w, r, dialectAt(path, r))
		return
	}
	switch path {
	case "/v1/chat/completions":
		h.generate(w, r, llm.Chat)
	case "/v1/messages":
		h.generate(w, r, llm.Messages)
	case "/v1/messages/count_tokens":
		h.countTokens(w, r)
	case "/v1/responses":
		h.responses(w, r)
	case "/v1/embeddings":
		h.generate(w, r, llm.Embeddings)
	case "/v1/models":
		h.models(w, r, "")
	case "/healthz":
		plain(w, r, http.StatusOK, "ok\n")
	case "/readyz":
		h.ready(w, r)
	case "/api/hello":
		plain(w, r, http.StatusOK, "")
	case "", "/":
		if r.Method == http.MethodHead {
			plain(w, r, http.StatusOK, "")
			return
		}
		h.notFound(w, r)
	default:
		if id, ok := strings.CutPrefix(path, "/v1/models/"); ok && id != "" {
			h.models(w, r, id)
			return
		}
		h.notFound(w, r)
	}
}

func plain(w http.ResponseWriter, r *http.Request, status int, text string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		status, text = http.StatusMethodNotAllowed, "method not allowed\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	expectReading(w, time.Time{})
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func (h *Handler) ready(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.cfg.Ready():
		plain(w, r, http.StatusServiceUnavailable, "no configuration yet, or stopping\n")
	case h.cfg.Alone != nil && h.cfg.Alone():
		plain(w, r, http.StatusOK, "ready; the bus is away: configuration as last heard, health as this node sees it\n")
	default:
		plain(w, r, http.StatusOK, "ready\n")
	}
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	x := h.exchange(w, r, dialectOf(r), surfaceOther)
	defer x.end()
	x.refuse(decide.UnknownEndpoint(r.Method, r.URL.Path))
}

// dialectAt is the dialect of an error on any path.
func dialectAt(path string, r *http.Request) llm.Dialect {
	if strings.HasPrefix(path, "/v1/messages") {
		return llm.Messages
	}
	return dialectOf(r)
}

// dialectOf is the dialect of an error on a path that has none of its own.
func dialectOf(r *http.Request) llm.Dialect {
	if r.Header["Anthropic-Version"] != nil {
		return llm.Messages
	}
	return llm.Chat
}

// responses serves OpenAI's responses. A tool that would rather speak over a WebSocket
// is told at once that there is none: Codex falls back on 426 without another try, and
// tries any other status again and again.
func (h *Handler) responses(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		h.generate(w, r, llm.Responses)
		return
	}
	// RFC 9110 section 15.5.22: the answer names what to speak instead.
	w.Header()["Upgrade"], w.Header()["Connection"] = []string{"HTTP/1.1"}, []string{"Upgrade"}
	x := h.exchange(w, r, llm.Responses, surfaces[llm.Responses])
	defer x.end()
	x.refuse(&llm.Error{Status: http.StatusUpgradeRequired, Code: "websocket_not_supported", Message: "there are no WebSockets here: use POST over HTTP"})
}

// generate is one request for an answer, from the key to the last byte.
func (h *Handler) generate(w http.ResponseWriter, r *http.Request, dialect llm.Dialect) {
	x := h.exchange(w, r, dialect, surfaces[dialect])
	defer x.end()
	if !h.receive(x) {
		return
	}
	defer func() { x.org.Activity.Count(h.cfg.Health.Now(), x.result, x.run.Failed) }()
	for {
		target, admission, ok := x.run.Next(h.cfg.Health.Now())
		if !ok {
			h.exhausted(x)
			return
		}
		if !h.prepare(x, target) {
			admission.Release()
			if x.ctx.Err() != nil {
				return // the caller left while files were fetched
			}
			continue
		}
		if admission.Probing() && (!h.cfg.Health.Reserve(x.ctx, target, &admission) || x.run.Cooling(target, h.cfg.Health.Now())) {
			admission.Release()
			x.run.Pass(target, h.cfg.Health.Now())
			continue
		}
		if h.try(x, target, &admission) {
			return
		}
	}
}

// receive takes a request in, from its key to its route, and reports whether it may go
// on; the caller has been answered if not.
func (h *Handler) receive(x *exchange) bool {
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", "POST")
		x.refuse(&llm.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "use POST"})
		return false
	}
	caller, refusal := h.authenticate(x.r)
	if refusal == nil {
		refusal = x.read()
	}
	if refusal != nil {
		x.refuse(refusal)
		return false
	}
	route, refusal := caller.Route(x.control.Model, x.dialect)
	if refusal != nil {
		x.refuse(refusal)
		return false
	}
	if slices.ContainsFunc(route.Targets, (*decide.Target).Passthrough) {
		x.takeOwnCredential(h.cfg.HashKey, caller.Key)
	}
	x.org = caller.Org
	x.begin(route, caller.Key.Access)
	return true
}

// results are what a request comes to by its last turn.
var results = [...]decide.Result{
	decide.Served: decide.ResultServed, decide.PassedOn: decide.ResultRefused, decide.Broke: decide.ResultFailed, decide.CallerLeft: decide.ResultLeft,
}

// try tries one target, again where a rate limit is to be waited out, and reports
// whether the request is over.
func (h *Handler) try(x *exchange, t *decide.Target, admission *decide.Admission) (over bool) {
	defer admission.Release()
	for {
		began := time.Now()
		h.cfg.Metrics.asking(x, began)
		verdict, answer := h.attempt(x, t)
		h.cfg.Metrics.attempted(t, verdict)
		turn, wait := x.run.After(t, verdict)
		if turn == decide.TryAgain {
			if !x.run.Cooling(t, h.cfg.Health.Now()) && !x.sleep(wait) {
				return true
			}
			if !x.run.Cooling(t, h.cfg.Health.Now()) {
				continue
			}
			turn = decide.NextTarget // it has begun to cool down meanwhile
		}
		if turn == decide.TryBare {
			if x.leaveOutThoughts(t) && !x.run.Cooling(t, h.cfg.Health.Now()) {
				h.cfg.Log.Info("asking again without the conversation's thoughts", "request_id", x.id, "organization_id", t.Provider.OrgID,
					"provider", t.Provider.Name, "upstream_model", t.UpstreamModel)
				continue
			}
			turn = decide.PassedOn
		}
		h.cfg.Health.Observe(t, admission, verdict, x.own)
		x.result = results[turn]
		switch turn {
		case decide.NextTarget:
			x.run.Fail(t, verdict, time.Since(began))
			h.logFailure(x, t, verdict)
			return false
		case decide.PassedOn:
			x.passOn(answer)
		case decide.Broke:
			if verdict.Class == decide.BadRequest { // the caller's own
				x.result = decide.ResultRefused
				return true
			}
			h.logFailure(x, t, verdict)
		}
		return true
	}
}

// logFailure tells of one attempt. Where the caller was served by another target
// it is no warning: the health record warns of targets that keep failing.
func (h *Handler) logFailure(x *exchange, t *decide.Target, v decide.Verdict) {
	level := slog.LevelInfo
	if x.started {
		level = slog.LevelWarn // a stream that broke, and the caller saw it
	}
	if !h.cfg.Log.Enabled(x.ctx, level) {
		return
	}
	h.cfg.Log.Log(x.ctx, level, "target failed", "request_id", x.id, "organization_id", t.Provider.OrgID, "route", x.route.Name, "position", t.Position,
		"provider", t.Provider.Name, "upstream_model", t.UpstreamModel, "reason", string(v.Class), "status", v.Status, "streaming", x.started)
}

// exhausted answers when no target served.
func (h *Handler) exhausted(x *exchange) {
	x.result = decide.ResultFailed
	e := x.run.Exhausted()
	h.cfg.Log.Warn("no target served", "request_id", x.id, "route", x.route.Name, "status", e.Status, "failed", x.run.Failed, "targets", len(x.run.Attempts))
	x.exhausted(e)
}
