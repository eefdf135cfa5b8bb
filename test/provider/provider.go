// Package provider is a scripted LLM provider: it speaks the OpenAI chat, responses and
// embeddings and the Anthropic messages dialect on one base URL, fails on command, and
// records and checks what it receives. Tests script it in process; a person scripts it with
// curl (see control.go).
package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Config configures a Server. The zero value accepts every non-empty key and logs
// nothing.
type Config struct {
	Log *slog.Logger
	// APIKeys are the accepted keys; empty accepts any that is not empty.
	APIKeys []string
	// Models is what GET /v1/models lists; empty lists a handful of well-known ones.
	// It does not limit which models are answered.
	Models []string
}

// Server is one scripted provider. All its methods may be called at any time from
// any goroutine.
type Server struct {
	log     *slog.Logger
	keys    []string
	models  []string
	handler http.Handler
	script  script
	ring    ring
	aws     awsAccount
	google  googleAccounts

	mu       sync.Mutex
	http     *http.Server
	served   chan struct{} // closed when the Serve goroutine has ended
	done     chan struct{} // closed by Close: ends every hang and delay
	closed   bool
	inFlight sync.WaitGroup
}

// New returns a provider that answers every model.
func New(cfg Config) *Server {
	s := &Server{log: cfg.Log, keys: cfg.APIKeys, models: cfg.Models, done: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if len(s.models) == 0 {
		s.models = []string{"gpt-4o", "gpt-4o-mini", "gpt-5-mini", "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}
	}
	s.script.reset()
	s.ring.reset()
	s.handler = s.routes()
	return s
}

// codexPath is where ChatGPT's backend for Codex takes requests.
const codexPath = "/backend-api/codex/responses"

// Handler serves the dialects and the control surface. The base URL of the OpenAI-like
// provider is <base>/v1, that of the Anthropic one is <base>, and that of ChatGPT's
// backend for Codex <base>/backend-api/codex. Those who are compatible with OpenAI's chat
// are under <base>/family/<name>, see vendors.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.handle(always(chat{}), model))
	mux.HandleFunc("POST /v1/embeddings", s.handle(always(embeddings{}), model))
	mux.HandleFunc("POST /v1/responses", s.handle(always(responses{}), model))
	mux.HandleFunc("POST "+codexPath, s.handle(always(codex{}), model))
	mux.HandleFunc("POST /v1/messages", s.handle(always(messages{}), model))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.handle(always(messages{}), countTokens))
	s.bedrockRoutes(mux)
	s.vertexRoutes(mux)
	s.azureRoutes(mux)
	s.familyRoutes(mux)
	mux.HandleFunc("GET /v1/models", s.auxiliary(modelList, byVersion, s.listModels))
	mux.HandleFunc("GET /v1/models/{model...}", s.auxiliary(modelList, byVersion, s.getModel))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n")) // a client that left is not our concern
	})
	mux.HandleFunc("GET /control", s.listControl)
	mux.HandleFunc("PUT /control/{model...}", s.putControl)
	mux.HandleFunc("DELETE /control/{model...}", s.deleteControl)
	return mux
}

// Start listens on addr (":0" and "127.0.0.1:0" choose a port) and returns the base
// URL. After Close it may be started again, at the same address or another.
func (s *Server) Start(addr string) (baseURL string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return "", errors.New("provider: already started")
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("provider: %w", err)
	}
	if s.closed {
		s.closed, s.done = false, make(chan struct{})
	}
	s.http = &http.Server{Handler: s.handler, ReadHeaderTimeout: 30 * time.Second}
	s.served = make(chan struct{})
	go func(server *http.Server, served chan<- struct{}) {
		defer close(served)
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("provider stopped", "error", err)
		}
	}(s.http, s.served)
	return "http://" + reachable(ln.Addr()), nil
}

// reachable turns a wildcard listen address into one that can be dialed.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
}

// Close stops at once: the listener and every connection are closed, whatever hangs
// is released, and no goroutine of the server is left when it returns. A Handler
// mounted elsewhere stops answering too.
func (s *Server) Close() error {
	s.mu.Lock()
	server, served := s.http, s.served
	s.http = nil
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()

	var err error
	if server != nil {
		err = server.Close()
		<-served
	}
	s.inFlight.Wait()
	return err
}

// enter counts a request in; ok is false once the server is closed.
func (s *Server) enter() (done <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.inFlight.Add(1)
	return s.done, true
}

// Requests returns what was received, oldest first: the last 1,000 requests, fewer
// when their bodies are large.
func (s *Server) Requests() []Request { return s.ring.list() }

// Calls is Requests without the lists of models: those the gateway reads by itself, to check
// its connection.
func (s *Server) Calls() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Method == http.MethodGet })
}

// Await waits until cond holds for what was received so far. It is evaluated again
// when a request arrives and when one ends (and so may have become ClientGone).
func (s *Server) Await(ctx context.Context, cond func([]Request) bool) ([]Request, error) {
	for {
		changed := s.ring.changed()
		if got := s.ring.list(); cond(got) {
			return got, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.ring.list(), ctx.Err()
		}
	}
}

// Script sets the next answers for a model, in order; the last one stays, unless its
// Times bounds it. Model "*" stands for every model without a script of its own, and
// the paths "/v1/models" and "/v1/messages/count_tokens" for those calls. No behaviors
// heals the model. It panics on a Behavior that cannot be.
func (s *Server) Script(model string, b ...Behavior) { s.ScriptKey(model, "", b...) }

// ScriptKey is Script for the requests that carry one API key or token only. It goes
// before the model's own script.
func (s *Server) ScriptKey(model, apiKey string, b ...Behavior) {
	for i := range b {
		if err := b[i].validate(); err != nil {
			panic("provider: Script " + model + ": " + err.Error())
		}
	}
	s.script.set(scriptKey{model, apiKey}, b)
}

// Reset forgets scripts, counts and requests.
func (s *Server) Reset() {
	s.script.reset()
	s.ring.reset()
}
