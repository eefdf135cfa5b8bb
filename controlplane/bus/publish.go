package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
)

// Headers of a published snapshot: its position, readable without the envelope.
const (
	headerEpoch   = "Spillway-Epoch"
	headerVersion = "Spillway-Version"
)

// publishAll publishes what changed, as soon as it changed, and at times all that
// the bus does not have.
func (b *Bus) publishAll(ctx context.Context, js jetstream.JetStream) {
	poll, reconcile := time.NewTicker(pollEvery), time.NewTicker(reconcileEvery)
	defer poll.Stop()
	defer reconcile.Stop()
	all := true // the first pass trusts nothing that the bus may have lost
	for {
		published, err := b.pass(ctx, js, all)
		if err != nil && ctx.Err() == nil {
			b.cfg.Log.Warn("configuration not published, trying again", "error", err)
		}
		all = all && err != nil
		if published {
			select { // gather what a burst of writes changes next
			case <-ctx.Done():
			case <-time.After(publishEvery):
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-b.poke:
		case <-b.redo:
			all = true
		case <-reconcile.C:
			all = true
		case <-poll.C:
		}
	}
}

// pass publishes every organization that is due, or that the bus has no current
// snapshot of. One that fails does not keep the others back.
func (b *Bus) pass(ctx context.Context, js jetstream.JetStream, all bool) (published bool, err error) {
	find := b.cfg.Store.PendingPublications
	if all {
		if err := ensureStreams(ctx, js); err != nil {
			return false, err
		}
		find = b.cfg.Store.AllPublications
	}
	due, err := find(ctx)
	if err != nil {
		return false, err
	}
	var failed error
	for _, p := range due {
		if err := b.publish(ctx, js, p); err != nil {
			failed = errors.Join(failed, fmt.Errorf("organization %s: %w", p.OrganizationID, err))
		}
	}
	return len(due) > 0, failed
}

// publish brings the bus to the organization's current version. Compare-and-swap
// on the subject keeps a slow publisher from putting an older one over a newer.
func (b *Bus) publish(ctx context.Context, js jetstream.JetStream, p store.Publication) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	subject := node.ConfigSubject(p.OrganizationID)
	for {
		last, epoch, version, err := position(ctx, js, subject)
		if err != nil {
			return err
		}
		if epoch > p.Epoch || epoch == p.Epoch && version >= p.Version {
			if epoch > p.Epoch || version > p.Version {
				b.cfg.Log.Error("the bus has a newer configuration than the database: after restoring a backup, raise the organization's epoch",
					"organization_id", p.OrganizationID, "database_version", p.Version, "bus_version", version)
			}
			return b.cfg.Store.MarkPublished(ctx, p.OrganizationID, p.Epoch, p.Version)
		}
		s, err := b.cfg.Store.Snapshot(ctx, p.OrganizationID)
		if err != nil {
			return err
		}
		envelope, err := node.Envelope(b.cfg.SigningKey, s)
		if err != nil {
			return err
		}
		if len(envelope) > node.MaxEnvelopeBytes {
			return fmt.Errorf("the packed snapshot is %d bytes, the bus takes %d", len(envelope), node.MaxEnvelopeBytes)
		}
		m := nats.NewMsg(subject)
		m.Data = envelope
		m.Header.Set(headerEpoch, strconv.FormatInt(s.Epoch, 10))
		m.Header.Set(headerVersion, strconv.FormatInt(s.Version, 10))
		_, err = js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last))
		if lostRace(err) {
			continue // another publisher was faster: look again
		}
		if err != nil {
			return err
		}
		return b.cfg.Store.MarkPublished(ctx, p.OrganizationID, s.Epoch, s.Version)
	}
}

// lostRace reports whether a compare-and-swap found another sequence. Replicated
// streams answer with a code of their own.
func lostRace(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// position is what the bus has of a subject; zeros if nothing.
func position(ctx context.Context, js jetstream.JetStream, subject string) (sequence uint64, epoch, version int64, err error) {
	stream, err := js.Stream(ctx, node.ConfigStream)
	if err != nil {
		return 0, 0, 0, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, 0, 0, nil
	}
	if err != nil {
		return 0, 0, 0, err
	}
	epoch, epochErr := strconv.ParseInt(m.Header.Get(headerEpoch), 10, 64)
	version, versionErr := strconv.ParseInt(m.Header.Get(headerVersion), 10, 64)
	if epochErr != nil || versionErr != nil {
		return m.Sequence, 0, 0, nil // not one of ours: replace it
	}
	return m.Sequence, epoch, version, nil
}

// streams is what the bus holds. Health is bounded in bytes too (about 250,000 events), so
// that a day of trouble fits the bus's memory and a node that joins reads it in seconds.
var streams = []jetstream.StreamConfig{
	{Name: node.ConfigStream, Subjects: []string{node.ConfigSubjects}, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld, AllowDirect: true},
	{Name: node.HealthStream, Subjects: []string{node.HealthSubjects}, Storage: jetstream.MemoryStorage,
		MaxAge: node.HealthMaxAge, MaxBytes: 128 << 20, Discard: jetstream.DiscardOld, AllowDirect: true},
	{Name: node.ProbeStream, Subjects: []string{node.ProbeSubjects}, Storage: jetstream.MemoryStorage,
		MaxMsgsPerSubject: 1, MaxBytes: 32 << 20, Discard: jetstream.DiscardOld, AllowMsgTTL: true, AllowDirect: true},
}

// ensureStreams makes the streams, or brings them to what this build expects.
func ensureStreams(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, cfg := range streams {
		if _, err := js.CreateOrUpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	return nil
}
