// Package sim runs fleets of nodes in virtual time: one goroutine, one seed, no clock
// and no network. What a node decides is the product's own code (decide: compiled
// routes, runs, health records, the outbox); what is simulated is all around it.
//
// Simulated are: the bus (one ordered log of health events with the server's time,
// repeated ids taken once within two minutes, delivery to each node in order after a
// random delay; probe slots with a time to live; outages, partitions of single nodes,
// messages that are lost, doubled, overtaken or confirmed late or never, streams that
// are wiped and made anew), the link's side of it (when events are sent and sent again,
// when slots are taken, held and given back), providers that have good and bad times,
// callers, clocks that are wrong, nodes that join, crash and come back, and a change of
// the configuration in the middle.
//
// Not simulated are: bodies and streams of requests beyond how an attempt ends, the
// bus's own replication, what nodes keep on disk, and load: nothing takes processor time.
//
// What must hold is in check_test.go and twin_test.go, each rule with the faults that it makes an
// exception for. A seed that once broke a rule stays in testdata/seeds and runs first.
//
//	go test ./test/sim -run Fleet -seed=7 -v    one fleet, with its history
//	go test ./test/sim -run Fleet -seeds=20000  more of them
package sim
