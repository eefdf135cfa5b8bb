package link

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// follower reads one stream for as long as the node runs, each message once: it
// goes on where it stopped, unless the stream was made anew, and then from its
// start. A consumer of a stream that was deleted and made again looks healthy and
// stays silent for ever, so the follower watches for that itself.
type follower struct {
	link   *Link
	js     jetstream.JetStream
	name   string
	from   jetstream.DeliverPolicy // in a stream not seen before
	handle func(m jetstream.Msg, at time.Time)
	anew   func() // called when a stream takes another's place; may be nil
	// caughtUp is closed when all that stood in the stream at the start was handled.
	caughtUp chan struct{}

	created  time.Time // of the stream that is read
	sequence uint64    // of the last message handled
	synced   bool
}

const (
	retryEvery = 100 * time.Millisecond
	watchEvery = 10 * time.Second // for a stream that was made anew
)

var errAnew = errors.New("the stream was made anew")

func (f *follower) run(ctx context.Context) {
	defer f.sync() // so that nobody waits for a node that stops
	for ctx.Err() == nil {
		err := f.read(ctx)
		if ctx.Err() != nil {
			return
		}
		f.link.cfg.Log.Debug("stream not readable, trying again", "node", f.link.cfg.Node, "stream", f.name, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
}

func (f *follower) sync() {
	if !f.synced {
		f.synced = true
		close(f.caughtUp)
	}
}

// read follows one consumer to its end.
func (f *follower) read(ctx context.Context) error {
	stream, err := f.js.Stream(ctx, f.name)
	if err != nil {
		return err
	}
	if created := stream.CachedInfo().Created; !created.Equal(f.created) {
		if !f.created.IsZero() && f.anew != nil {
			f.anew()
		}
		f.created, f.sequence = created, 0
	}
	// One attempt: this loop is the one that tries again.
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: f.from, MaxResetAttempts: 1}
	if f.sequence > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.sequence+1
	}
	consumer, err := stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return err
	}
	if info.NumPending == 0 && info.Delivered.Stream == 0 {
		f.sync()
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { f.watch(ctx, cancel) })
	defer watching.Wait()
	defer cancel(nil)
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		f.handle(m, meta.Timestamp)
		f.sequence = meta.Sequence.Stream
		if meta.NumPending == 0 {
			f.sync()
		}
	}
}

// watch ends the reading of a stream in whose place another stands.
func (f *follower) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.link.reconnects.next():
		case <-time.After(watchEvery):
		}
		stream, err := f.js.Stream(ctx, f.name)
		if err == nil && !stream.CachedInfo().Created.Equal(f.created) {
			cancel(errAnew)
		}
		// A stream that is not there yet is looked for again soon.
		for errors.Is(err, jetstream.ErrStreamNotFound) && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(retryEvery):
			}
			if _, err = f.js.Stream(ctx, f.name); err == nil {
				cancel(errAnew)
			}
		}
	}
}

// signal wakes everyone who waits for its next occurrence. Its zero value is ready.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
	}
	s.c = nil
}
