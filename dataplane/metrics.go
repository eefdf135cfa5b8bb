package dataplane

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/dataplane/link"
)

// state tells of what a node is at the moment of a scrape, for which it is asked once.
type state struct{ *Node }

// stateMetrics are what it tells.
var stateMetrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(n *Node, s *link.State) float64
}{
	{describe("spillway_ready", "1: the node has its configuration and is not stopping."),
		prometheus.GaugeValue, func(n *Node, _ *link.State) float64 { return number(n.Ready()) }},
	{describe("spillway_bus_connected", "1: the bus answers. 0: the node goes on with what it has, and with what it sees of targets itself."),
		prometheus.GaugeValue, func(n *Node, _ *link.State) float64 { return number(!n.link.Alone()) }},
	{describe("spillway_organizations", "Organizations whose configuration the node has."),
		prometheus.GaugeValue, func(_ *Node, s *link.State) float64 { return float64(s.Organizations) }},
	{describe("spillway_configuration_applied_timestamp_seconds", "When the node last took on an organization's configuration, in Unix time; 0: never."),
		prometheus.GaugeValue, func(_ *Node, s *link.State) float64 { return float64(s.Applied) / 1000 }},
	{describe("spillway_configurations_refused_total", "Configurations that the node refused, and kept the one before."),
		prometheus.CounterValue, func(_ *Node, s *link.State) float64 { return float64(s.Refused) }},
	{describe("spillway_targets_cooling", "Provider models that requests skip since they cool down."),
		prometheus.GaugeValue, func(_ *Node, s *link.State) float64 { return float64(s.Cooling) }},
	{describe("spillway_targets_recovering", "Provider models whose cooldown has passed and that get a few requests at a time."),
		prometheus.GaugeValue, func(_ *Node, s *link.State) float64 { return float64(s.Recovering) }},
	{describe("spillway_health_events_untold", "Events of targets' health that the bus has not brought back yet."),
		prometheus.GaugeValue, func(_ *Node, s *link.State) float64 { return float64(s.Untold) }},
}

func describe(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// Describe and Collect make it a prometheus.Collector.
func (state) Describe(out chan<- *prometheus.Desc) {
	for _, m := range stateMetrics {
		out <- m.desc
	}
}

// Collect asks the node.
func (n state) Collect(out chan<- prometheus.Metric) {
	s := n.link.State()
	for _, m := range stateMetrics {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(n.Node, &s))
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
