package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table: a figure of each system, and what it is held against.
type row struct {
	title string
	unit  string
	value func(r *results, system string) (float64, bool)
	// against is what the gateway's figure is divided by; nil compares the figure itself.
	against func(r *results) (float64, bool)
	// The targets, of the ratio or of the figure; 0 is none.
	first, goal float64
}

// outcome is a row with its figures.
type outcome struct {
	Title    string             `json:"title"`
	Unit     string             `json:"unit"`
	Figures  map[string]float64 `json:"figures"`
	Measured float64            `json:"measured,omitempty"` // what the targets are of
	Ratio    bool               `json:"ratio"`
	First    float64            `json:"first_landing,omitempty"`
	Goal     float64            `json:"goal,omitempty"`
	Verdict  string             `json:"verdict,omitempty"`
}

type figure = func(r *results, system string) (float64, bool)

func cpu(scenario string) figure {
	return func(r *results, system string) (float64, bool) {
		v, ok := r.median(scenario, system, func(s sample) float64 {
			return float64(s.CPU) / float64(time.Microsecond) / float64(max(s.Events, s.Requests))
		})
		return v, ok && system != direct
	}
}

// added is a latency above that of a direct call; of direct it is the call itself.
func added(scenario string, of func(sample) time.Duration) figure {
	ms := func(s sample) float64 { return float64(of(s)) / float64(time.Millisecond) }
	return func(r *results, system string) (float64, bool) {
		own, ok := r.median(scenario, system, ms)
		base, directOK := r.median(scenario, direct, ms)
		if system == direct {
			return base, directOK
		}
		return own - base, ok && directOK
	}
}

// took is how long something takes, as it is.
func took(scenario string, of func(sample) time.Duration) figure {
	return func(r *results, system string) (float64, bool) {
		return r.median(scenario, system, func(s sample) float64 { return float64(of(s)) / float64(time.Millisecond) })
	}
}

func perStream(n int) figure {
	return func(r *results, system string) (float64, bool) {
		return r.median(openID(n), system, func(s sample) float64 { return float64(s.Memory) / 1024 / float64(s.Requests) })
	}
}

func idle(r *results, system string) (float64, bool) {
	v, ok := r.Idle[system]
	return float64(v) / (1 << 20), ok
}

func of(f figure, system string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) { return f(r, system) }
}

func p50(s sample) time.Duration { return s.P50 }
func p99(s sample) time.Duration { return s.P99 }

// rows are the lines of the table with the targets of the design.
func rows() []row {
	ratio := func(title, unit string, f figure, first, goal float64) row {
		return row{title, unit, f, of(f, plain), first, goal}
	}
	const request, event = "µs CPU/request", "µs CPU/event"
	return []row{
		ratio("JSON, 64 callers", request, cpu("json-64"), 1.6, 1.25),
		ratio("JSON, 256 callers", request, cpu("json-256"), 1.6, 1.25),
		ratio("64 KiB prompt", request, cpu("prompt-64k"), 1.5, 1.1),
		ratio("1 MB prompt", request, cpu("prompt-1m"), 1.5, 1.1),
		ratio("SSE, 20 streams paced", event, cpu("sse-paced"), 1.3, 1.1),
		ratio("SSE, no delay", event, cpu("sse-fast"), 2, 1.3),
		{"failing over, of own single try", request, cpu("failover"), of(cpu("json-64"), spillway), 1.8, 1.5},
		{"translated, of own forwarded", request, cpu("translated"), of(cpu("json-64"), spillway), 4, 2.5},
		{"agent's 48 KB, forwarded", request, cpu("translate-agent-forwarded"), nil, 0, 0},
		{"agent's 48 KB to chat, of own forwarded", request, cpu("translate-agent"), of(cpu("translate-agent-forwarded"), spillway), 4, 2.5},
		{"1 KB in chat, forwarded", request, cpu("translate-chat-forwarded"), nil, 0, 0},
		{"1 KB in chat to messages, of own forwarded", request, cpu("translate-chat"), of(cpu("translate-chat-forwarded"), spillway), 4, 2.5},
		{"SSE, forwarded", event, cpu("translate-stream-forwarded"), nil, 0, 0},
		{"SSE of chat as messages, of own forwarded", event, cpu("translate-stream"), of(cpu("translate-stream-forwarded"), spillway), 4, 2.5},
		{"SSE of messages as chat, of own forwarded", event, cpu("translate-stream-to-chat"), of(cpu("translate-stream-forwarded"), spillway), 4, 2.5},
		ratio("added p50 at 200/s", "ms", added("rate-200", p50), 1.5, 1.1),
		ratio("added p99 at 200/s", "ms", added("rate-200", p99), 0, 0),
		ratio("added p50 at 1,000/s", "ms", added("rate-1000", p50), 1.5, 1.1),
		ratio("added p99 at 1,000/s", "ms", added("rate-1000", p99), 0, 0),
		{"per open stream, 1,000 open", "KB", perStream(1000), nil, 60, 35},
		{"per open stream, 5,000 open", "KB", perStream(5000), nil, 60, 35},
		{"idle", "MB", idle, nil, 40, 25},
		{"of 10,000 routes, list all, p50", "ms", took(adminList, p50), nil, 0, 0},
		{"of 10,000 routes, list all, p99", "ms", took(adminList, p99), nil, 300, 300},
		{"of 10,000 routes, list 100, p99", "ms", took(adminPage, p99), nil, 300, 300},
		{"of 10,000 routes, create one, p50", "ms", took(adminCreate, p50), nil, 0, 0},
		{"of 10,000 routes, create one, p99", "ms", took(adminCreate, p99), nil, 50, 50},
		{"of 10,000 routes, live on a node, p99", "ms", took(adminLive, p99), nil, 2000, 2000},
	}
}

var columns = []string{direct, proxy, plain, spillway}

// outcomes are the rows that were measured.
func (r *results) outcomes() (list []outcome) {
	for _, row := range rows() {
		o := outcome{Title: row.title, Unit: row.unit, Figures: map[string]float64{}, Ratio: row.against != nil, First: row.first, Goal: row.goal}
		for _, system := range columns {
			if v, ok := row.value(r, system); ok {
				o.Figures[system] = v
			}
		}
		if len(o.Figures) == 0 {
			continue
		}
		if own, ok := o.Figures[spillway]; ok {
			o.judge(r, row, own)
		}
		list = append(list, o)
	}
	return list
}

func (o *outcome) judge(r *results, row row, own float64) {
	o.Measured = own
	if row.against != nil {
		base, ok := row.against(r)
		if !ok || base <= 0 { // noise: less than nothing was added
			o.Measured = 0
			return
		}
		o.Measured = own / base
	}
	switch {
	case row.first == 0:
	case o.Measured <= row.goal:
		o.Verdict = "goal met"
	case o.Measured <= row.first:
		o.Verdict = "first landing met"
	default:
		o.Verdict = "not met"
	}
}

// titleWidth pads the first column by hand, on the left: the table is aligned right.
const titleWidth = 34

// table writes the results for a person.
func (r *results) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d rounds, median, %s\n\n", r.Machine, r.Rounds, r.Took.Round(time.Second))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t\t%s\tmeasured\tfirst landing\tgoal\t\t\n", strings.Join(columns, "\t"))
	for _, o := range r.outcomes() {
		fmt.Fprintf(w, "%-*s\t%s\t", titleWidth, o.Title, o.Unit)
		for _, system := range columns {
			fmt.Fprintf(w, "%s\t", number(o.Figures, system))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", o.target(o.Measured), o.target(o.First), o.target(o.Goal), dash(o.Verdict))
	}
	fmt.Fprintf(w, "%-*s\t\t", titleWidth, "streams checked")
	for _, system := range columns {
		fmt.Fprintf(w, "%d\t", r.damage(system).Streams)
	}
	fmt.Fprint(w, "-\t0 damaged\t0 damaged\t"+r.verdict()+"\t\n")
	_ = w.Flush() // to memory
	b.WriteString("\n" + legend)
	for _, line := range r.remarks() {
		b.WriteString(line + "\n")
	}
	return b.String()
}

const legend = `measured: spillway's figure divided by the baseline's, or by what the line names; KB and MB as they are.
spillway is one "spillway dev" process: its control plane, bus and demo provider are in its figures.
`

// remarks are what the figures do not say.
func (r *results) remarks() []string {
	lines := slices.Clone(r.Notes)
	for _, system := range columns {
		d := r.damage(system)
		if !d.any() {
			continue
		}
		line := fmt.Sprintf("%s damaged streams: %s", system, d)
		if system == proxy {
			line += " (not counted: a known fault of httputil.ReverseProxy, golang/go#40747)"
		}
		lines = append(lines, line)
	}
	for _, f := range r.failures() {
		lines = append(lines, f.text)
	}
	return lines
}

func (r *results) verdict() string {
	switch d := r.damage(spillway); {
	case d.Streams == 0:
		return "-"
	case d.any():
		return "not met"
	default:
		return "goal met"
	}
}

func number(figures map[string]float64, system string) string {
	v, ok := figures[system]
	switch {
	case !ok:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func (o outcome) target(v float64) string {
	switch {
	case v == 0:
		return "-"
	case o.Ratio:
		return fmt.Sprintf("%.2fx", v)
	default:
		return fmt.Sprintf("%.0f %s", v, o.Unit)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
