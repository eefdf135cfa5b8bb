package rest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

func TestConfigStatus(t *testing.T) {
	t.Parallel()
	nodes := &fleet{silent: []string{"node-4"}, acks: []node.Ack{
		{Node: "node-2", Version: 2, Code: "does_not_compile", Message: "no such thing", Field: "mappings"}, {Node: "node-3", Epoch: 1, Version: 3}}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	a.provider(t, "P")
	a.provider(t, "Q") // version 1 is the organization, 2 its service account or not: read it
	path := adminPath + "config-status"
	version := int64(a.call(t, "GET", path, nil).want(t, 200).field(t, "version").(float64))
	nodes.say(node.HealthReport{Node: "node-3", Epoch: 1, Version: version}, node.HealthReport{Node: "node-2", Epoch: 1, Version: version - 1},
		node.HealthReport{Node: "node-1"}, node.HealthReport{Node: "node-5", Epoch: 0, Version: version}, node.HealthReport{Node: "node-6", Epoch: 1, Version: version + 1})
	got := a.call(t, "GET", path, nil).want(t, 200).object(t)
	at := func(name string, epoch, version any, live, answered bool) fields {
		return fields{"node": name, "answered": answered, "epoch": epoch, "version": version, "live": live, "refused": nil}
	}
	refused := at("node-2", 1.0, float64(version-1), false, true)
	refused["refused"] = fields{"version": 2.0, "code": "does_not_compile", "message": "no such thing", "field": "mappings"}
	newest := float64(version)
	want := fields{"epoch": 1.0, "version": newest, "published_version": got["published_version"], "reachable": true, "live_nodes": 2.0,
		"nodes": []any{at("node-1", nil, nil, false, true), refused, at("node-3", 1.0, newest, true, true), at("node-4", nil, nil, false, false),
			at("node-5", 0.0, newest, false, true), at("node-6", 1.0, newest+1, true, true)},
		"acts": fields{"model_access": true, "require_pricing_for_mappings": true, "rate_limits": false, "budgets": false, "model_pricing": false,
			"routing_policies": false, "require_routing_policy": false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.provider(t, "R")
	if next := a.call(t, "GET", path, nil).want(t, 200).object(t); next["version"] != newest+1 || next["live_nodes"] != 1.0 {
		t.Errorf("after a change: %v", next)
	}
	nodes.mu.Lock()
	nodes.err = errors.New("the bus is not connected")
	nodes.mu.Unlock()
	if away := a.call(t, "GET", path, nil).want(t, 200).object(t); away["reachable"] != false || len(away["nodes"].([]any)) != 0 || away["version"] != newest+1 {
		t.Errorf("without the bus: %v", away)
	}
}
