package link

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const (
	// checksAtOnce is how many connections this node checks at a time; checksWaiting, how
	// many more may wait. Beyond that whoever asked gets no answer, and asks again.
	checksAtOnce  = 16
	checksWaiting = 64
	// configPatience is how long the configuration that is to be checked may still be on its
	// way.
	configPatience = 3 * time.Second
)

// answerChecks checks providers' connections for the control plane until ctx ends. Of all
// nodes one is asked: it alone can open a credential, and any of them can.
func (l *Link) answerChecks(ctx context.Context, nc *nats.Conn) error {
	asked := make(chan *nats.Msg, checksWaiting)
	sub, err := nc.ChanQueueSubscribe(node.AskProbeSubject, node.ProbeQueue, asked)
	if err != nil {
		return fmt.Errorf("subscribing to %s: %w", node.AskProbeSubject, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var wg sync.WaitGroup
	for range checksAtOnce {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-asked:
					l.answerCheck(ctx, m)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

func (l *Link) answerCheck(ctx context.Context, m *nats.Msg) {
	var ask node.ProbeAsk
	err := json.Unmarshal(m.Data, &ask)
	if err == nil {
		var answer []byte
		if answer, err = json.Marshal(l.check(ctx, ask)); err == nil {
			err = m.Respond(answer)
		}
	}
	if err != nil {
		l.cfg.Log.Warn("connection check not told", "node", l.cfg.Node, "error", err)
	}
}

// check makes one check, with the configuration that serves.
func (l *Link) check(ctx context.Context, ask node.ProbeAsk) node.ProbeReport {
	report := node.ProbeReport{Node: l.cfg.Node, Outcome: node.ProbeBehind}
	if ask.Provider != nil {
		report.Outcome, report.Detail = l.try(ctx, ask)
		return report
	}
	org := l.orgAt(ctx, ask)
	if org == nil {
		return report
	}
	report.Version = org.Version
	if p := org.Provider(ask.ProviderID); p != nil {
		report.Outcome, report.Detail = l.cfg.Probe(ctx, p)
	}
	return report
}

// try checks a provider that is in no configuration.
func (l *Link) try(ctx context.Context, ask node.ProbeAsk) (node.ProbeOutcome, string) {
	board := decide.NewBoard()
	board.Ambient = l.cfg.Ambient
	org, err := compile(&node.Snapshot{Format: node.Format, OrganizationID: ask.OrganizationID, Providers: []node.Provider{*ask.Provider}}, board)
	if err != nil {
		return node.ProbeUnsupported, "the nodes would refuse this: " + err.Error()
	}
	return l.cfg.Probe(ctx, org.Provider(ask.Provider.ID))
}

// orgAt waits for the configuration of a version or a later one; nil: it did not come.
func (l *Link) orgAt(ctx context.Context, ask node.ProbeAsk) *decide.Org {
	ctx, cancel := context.WithTimeout(ctx, configPatience)
	defer cancel()
	for {
		swapped := l.swapped.next()
		if org := l.Table().Org(ask.OrganizationID); org != nil && org.Version >= ask.Version {
			return org
		}
		select {
		case <-swapped:
		case <-ctx.Done():
			return nil
		}
	}
}
