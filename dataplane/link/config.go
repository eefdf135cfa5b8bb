package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// take reads one envelope, and swaps it in if it is good and newer. A bad one is
// refused for its organization only, which keeps what it had; either way the
// control plane hears of it.
func (l *Link) take(nc *nats.Conn, envelope []byte) {
	s, err := node.Open(l.cfg.SigningKey, envelope)
	if err != nil {
		code := "bad_document"
		if errors.Is(err, node.ErrBadSignature) {
			code = "bad_signature"
		}
		l.refuse(nc, node.Ack{Code: code, Message: err.Error()})
		return
	}
	ack := node.Ack{OrganizationID: s.OrganizationID, Epoch: s.Epoch, Version: s.Version}
	table := l.table.Load()
	if had := table.Org(s.OrganizationID); had != nil && !s.Newer(had.Epoch, had.Version) {
		ack.Epoch, ack.Version = had.Epoch, had.Version
		l.ack(nc, ack)
		return
	}
	org, err := compile(s, l.board)
	if err != nil {
		l.refuse(nc, uncompilable(ack, err))
		return
	}
	l.swap(table.With(org)) // only this goroutine stores after New
	l.swapped.broadcast()
	if l.disk != nil {
		if err := l.disk.save(s.OrganizationID, envelope); err != nil {
			l.cfg.Log.Error("configuration not kept on disk", "organization_id", s.OrganizationID, "version", s.Version, "error", err)
		}
	}
	l.ack(nc, ack)
}

// compile never panics: a document that would take the process down must harm no
// more than its organization.
func compile(s *node.Snapshot, board *decide.Board) (org *decide.Org, err error) {
	defer func() {
		if p := recover(); p != nil {
			org, err = nil, fmt.Errorf("compiling panicked: %v", p)
		}
	}()
	return decide.Compile(s, board)
}

// uncompilable says in an acknowledgement what is wrong, and where.
func uncompilable(ack node.Ack, err error) node.Ack {
	ack.Code, ack.Message = "does_not_compile", err.Error()
	if defect := (*decide.Defect)(nil); errors.As(err, &defect) {
		ack.Field = strings.TrimPrefix(defect.Where+"."+defect.Field, ".")
	}
	return ack
}

func (l *Link) refuse(nc *nats.Conn, ack node.Ack) {
	l.refused.Add(1)
	l.cfg.Log.Error("configuration refused", "node", l.cfg.Node, "organization_id", ack.OrganizationID, "version", ack.Version, "code", ack.Code, "error", ack.Message)
	l.ack(nc, ack)
}

// maxAcks is how many acknowledgements go into one message.
const maxAcks = 1000

func (l *Link) ack(nc *nats.Conn, acks ...node.Ack) {
	for batch := range slices.Chunk(acks, maxAcks) {
		for i := range batch {
			batch[i].Node = l.cfg.Node
		}
		body, err := json.Marshal(batch)
		if err == nil {
			err = nc.Publish(node.AckSubject(l.cfg.Node), body)
		}
		if err != nil {
			l.cfg.Log.Warn("acknowledgement not sent", "node", l.cfg.Node, "error", err)
		}
	}
}

// ackAll says what the node serves of every organization.
func (l *Link) ackAll(nc *nats.Conn) {
	var acks []node.Ack
	for org := range l.table.Load().All() {
		acks = append(acks, node.Ack{OrganizationID: org.ID, Epoch: org.Epoch, Version: org.Version})
	}
	l.ack(nc, acks...)
}
