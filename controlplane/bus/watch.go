package bus

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
)

// Topics are what may have changed in an organization.
const (
	TopicConfig = "config" // what is stored of the organization
	TopicHealth = "health" // what the nodes see of its targets
	TopicNodes  = "nodes"  // which nodes serve it, and at which version
)

// watchers are those who want to know that something changed, by organization.
type watchers struct {
	mu     sync.Mutex
	of     map[uuid.UUID][]*watch
	closed bool
}

type watch struct {
	changed chan struct{}
	topics  []string // since they were taken last
}

// Watch tells of changes of one organization until stop is called: changed has a value
// when take returns topics, and is closed when the bus stops. What changes at the moment
// of the call may be told or not, so whoever watches looks at everything once after it.
func (b *Bus) Watch(organization uuid.UUID) (changed <-chan struct{}, take func() []string, stop func()) {
	w, s := &watch{changed: make(chan struct{}, 1)}, &b.watchers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(w.changed)
	} else {
		s.of[organization] = append(s.of[organization], w)
	}
	return w.changed, func() []string { return s.take(w) }, func() { s.remove(organization, w) }
}

func (s *watchers) take(w *watch) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := w.topics
	w.topics = nil
	return out
}

func (s *watchers) remove(organization uuid.UUID, w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(s.of[organization], func(other *watch) bool { return other == w })
	if len(rest) > 0 {
		s.of[organization] = rest
	} else {
		delete(s.of, organization)
	}
}

// changed tells those who watch the organization; uuid.Nil: those who watch any.
func (s *watchers) changed(organization uuid.UUID, topics ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if organization != uuid.Nil {
		tell(s.of[organization], topics)
		return
	}
	for _, list := range s.of {
		tell(list, topics)
	}
}

// tell needs the watchers' lock.
func tell(list []*watch, topics []string) {
	for _, w := range list {
		for _, t := range topics {
			if !slices.Contains(w.topics, t) {
				w.topics = append(w.topics, t)
			}
		}
		signal(w.changed)
	}
}

// close ends every watch, so that nobody waits for a bus that has stopped.
func (s *watchers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, list := range s.of {
		for _, w := range list {
			close(w.changed)
		}
	}
	clear(s.of)
}

// watchHealth hears what the nodes tell each other, without keeping any of it.
func (b *Bus) watchHealth(ctx context.Context, nc *nats.Conn) error {
	sub, err := nc.Subscribe(node.HealthSubjects, func(m *nats.Msg) {
		if organization, err := node.OrganizationOf(m.Subject); err == nil {
			b.watchers.changed(organization, TopicHealth)
		}
	})
	if err == nil {
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	}
	return err
}
