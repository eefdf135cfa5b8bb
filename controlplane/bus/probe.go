package bus

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
)

const (
	// probePoll is how often checks that are due are looked for, beside after each change.
	probePoll = 5 * time.Second
	// probesAtOnce is how many checks this control plane has under way.
	probesAtOnce = 64
	// probePatience is how long a node is given: to have the configuration, and to ask a
	// provider that does not answer.
	probePatience = 15 * time.Second
)

// Probe asks one node to check a provider's connection.
func (b *Bus) Probe(ctx context.Context, ask node.ProbeAsk) (node.ProbeReport, error) {
	var report node.ProbeReport
	nc := b.conn.Load()
	if nc == nil || !nc.IsConnected() {
		return report, errNotConnected
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return report, err
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, node.AskProbeSubject, body)
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal(m.Data, &report)
}

// probeAll has every connection checked when it is due. Each check is claimed first, so
// that of several control planes one makes it.
func (b *Bus) probeAll(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, probesAtOnce)
	poll := time.NewTicker(probePoll)
	defer poll.Stop()
	for {
		due := b.probesDue(ctx)
		for _, target := range due {
			select {
			case <-ctx.Done():
				return
			case slots <- struct{}{}:
			}
			wg.Go(func() {
				defer func() { <-slots }()
				b.probe(ctx, target)
			})
		}
		if len(due) == probesAtOnce {
			continue // there may be more
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-b.probes:
		}
	}
}

// probesDue finds what to check, while there may be somebody to ask.
func (b *Bus) probesDue(ctx context.Context) []store.ProbeTarget {
	if nc := b.conn.Load(); nc == nil || !nc.IsConnected() {
		return nil
	}
	due, err := b.cfg.Store.Probes().Due(ctx, probesAtOnce)
	if err != nil && ctx.Err() == nil {
		b.cfg.Log.Warn("connection checks not found, trying again", "error", err)
	}
	return due
}

// probe makes one check. Without an answer it is made again soon.
func (b *Bus) probe(ctx context.Context, target store.ProbeTarget) {
	ask, claimed, err := b.cfg.Store.Probes().Claim(ctx, target)
	if err == nil && claimed {
		var report node.ProbeReport
		report, err = b.Probe(ctx, ask)
		if err != nil || report.Outcome == node.ProbeBehind {
			err = errors.Join(err, b.cfg.Store.Probes().Release(ctx, target))
		} else {
			_, err = b.cfg.Store.Probes().Note(ctx, target, report)
		}
	}
	if err != nil && ctx.Err() == nil {
		b.cfg.Log.Warn("connection not checked, trying again", "provider_id", target.ProviderID, "organization_id", target.OrganizationID, "error", err)
	}
}
