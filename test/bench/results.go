package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// results is what a run brought, as it is written to a file.
type results struct {
	Machine string                         `json:"machine"`
	Rounds  int                            `json:"rounds"`
	Took    time.Duration                  `json:"took_ns"`
	Idle    map[string]int64               `json:"idle_bytes"`
	Samples map[string]map[string][]sample `json:"samples"` // by scenario and system, one per round
	Rows    []outcome                      `json:"rows"`
	Notes   []string                       `json:"notes,omitempty"`
}

func newResults(rounds int) *results {
	return &results{Machine: machine(), Rounds: rounds, Idle: map[string]int64{}, Samples: map[string]map[string][]sample{}}
}

func (r *results) add(scenario, system string, s sample) {
	if r.Samples[scenario] == nil {
		r.Samples[scenario] = map[string][]sample{}
	}
	r.Samples[scenario][system] = append(r.Samples[scenario][system], s)
}

func (r *results) write(file string) error {
	r.Rows = r.outcomes()
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}

// median returns the middle of a figure over the rounds. There is none (ok is false)
// where more than one request in a hundred failed: refusing is cheap.
func (r *results) median(scenario, system string, figure func(sample) float64) (value float64, ok bool) {
	samples := r.Samples[scenario][system]
	if len(samples) == 0 {
		return 0, false
	}
	values := make([]float64, len(samples))
	for i, s := range samples {
		if s.Failed*100 > s.Requests {
			return 0, false
		}
		values[i] = figure(s)
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2, true
	}
	return values[len(values)/2], true
}

func (r *results) damage(system string) (sum damage) {
	for _, systems := range r.Samples {
		for _, s := range systems[system] {
			sum.add(s.Damage)
		}
	}
	return sum
}

// broken is an error where figures mean nothing: streams were damaged or requests
// failed in a gateway of ours. A missed target is not one, nor is a stream that the
// reverse proxy of the standard library cut.
func (r *results) broken() error {
	var errs []error
	for _, system := range []string{plain, spillway} {
		if d := r.damage(system); d.any() {
			errs = append(errs, fmt.Errorf("%s damaged streams: %s", system, d))
		}
	}
	for _, line := range r.failures() {
		if line.system == plain || line.system == spillway {
			errs = append(errs, errors.New(line.text))
		}
	}
	return errors.Join(errs...)
}

type failure struct{ system, text string }

func (r *results) failures() (list []failure) {
	for scenario, systems := range r.Samples {
		for system, samples := range systems {
			failed, asked, first := 0, 0, ""
			for _, s := range samples {
				failed, asked = failed+s.Failed, asked+s.Requests
				if first == "" {
					first = s.First
				}
			}
			if failed > 0 {
				list = append(list, failure{system, fmt.Sprintf("%s %s: %d of %d requests failed: %s", scenario, system, failed, asked, first)})
			}
		}
	}
	slices.SortFunc(list, func(a, b failure) int { return strings.Compare(a.text, b.text) })
	return list
}
