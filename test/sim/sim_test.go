package sim

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

var (
	oneSeed   = flag.Uint64("seed", 0, "simulate only this fleet, and tell its history with -v")
	manySeeds = flag.Int("seeds", 0, "how many fleets to simulate; 0: as many as fit into half a minute")
	firstSeed = flag.Uint64("first", 1, "the first of the seeds")
)

// TestFleet simulates fleets, first those whose seeds once broke a rule.
func TestFleet(t *testing.T) {
	t.Parallel()
	if *oneSeed != 0 {
		var trace func(string)
		if testing.Verbose() {
			trace = func(line string) { fmt.Println(line) }
		}
		if _, err := simulate(*oneSeed, trace); err != nil {
			t.Error(err)
		}
		return
	}
	seeds := keptSeeds(t)
	for i := range fleets() {
		seeds = append(seeds, *firstSeed+uint64(i))
	}
	var next atomic.Int64
	var failed atomic.Int32
	var mu sync.Mutex
	total := map[string]int{}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for failed.Load() < 5 {
				i := int(next.Add(1)) - 1
				if i >= len(seeds) {
					return
				}
				stats, err := simulate(seeds[i], nil)
				if err != nil {
					failed.Add(1)
					t.Errorf("%v\n  go test ./test/sim -run Fleet -seed=%d -v", err, seeds[i])
				}
				mu.Lock()
				for what, n := range stats {
					total[what] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%d %s", total[what], what)
	}
}

func fleets() int {
	switch {
	case *manySeeds > 0:
		return *manySeeds
	case raceDetector || testing.Short():
		return 100
	}
	return 1000
}

// keptSeeds reads the seeds that once broke a rule.
func keptSeeds(t *testing.T) (seeds []uint64) {
	t.Helper()
	file, err := os.Open("testdata/seeds")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, _, _ := strings.Cut(lines.Text(), "#")
		if number = strings.TrimSpace(number); number == "" {
			continue
		}
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// The same seed is the same history, to the last line.
func TestSeedsAreReproducible(t *testing.T) {
	t.Parallel()
	history := func() string {
		var b strings.Builder
		if _, err := simulate(3, func(line string) { b.WriteString(line + "\n") }); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	if one, two := history(), history(); one != two || len(one) < 1000 {
		t.Error("the same seed went another way")
	}
}

// simulate runs the fleet of a seed: faults, then calm until everything is still, then
// healthy providers and traffic until every record is healthy.
func simulate(seed uint64, trace func(string)) (map[string]int, error) {
	w := newWorld(seed, trace)
	w.plan = newPlan(w)
	w.config = newConfig(w)
	w.providers = newProviders(w)
	w.say("plan: %+v", w.plan)
	w.join(w.plan.nodes)
	w.planFaults()
	w.after(time.Second, w.traffic)
	w.runUntil(w.plan.chaos)
	w.calmDown()
	w.runUntil(w.now + 90*time.Second)
	w.checkStill()
	w.allHealed = true
	w.say("every provider is healthy from now on")
	w.recover()
	w.checkStill()
	w.checkHealed()
	return w.stats, w.broken
}

func newWorld(seed uint64, trace func(string)) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x5b11)), trace: trace, born: map[uuid.UUID]time.Duration{}, told: map[uuid.UUID]bool{}, asked: map[uuid.UUID]time.Duration{}, wronged: map[key]bool{},
		flights: map[key]*flight{}, stats: map[string]int{}}
	w.bus, w.lineages = newBus(w), newLineages(w)
	return w
}

func (w *world) join(count int) {
	for range count {
		n := &fleetNode{w: w, name: fmt.Sprintf("node-%d", len(w.nodes)+1)}
		w.nodes = append(w.nodes, n)
		n.start()
	}
}

// calmDown ends every fault.
func (w *world) calmDown() {
	w.calm = true
	w.say("no more faults, no more requests")
	if !w.bus.up {
		w.bus.up = true
	}
	for _, n := range w.nodes {
		if !n.alive {
			n.start()
		}
		if !n.connected {
			n.reconnect()
		}
	}
}
