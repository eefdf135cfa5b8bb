package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func stitched(numbers ...int) []byte {
	b := roleChunk()
	for _, n := range numbers {
		b = append(b, contentChunk(n)...)
	}
	return append(append(b, finishChunk()...), done...)
}

func TestCheckStream(t *testing.T) {
	t.Parallel()
	whole := stitched(0, 1, 2, 3)
	for name, c := range map[string]struct {
		raw  []byte
		want damage
	}{
		"OK":        {whole, damage{}},
		"Lost":      {stitched(0, 3), damage{Lost: 2}},
		"LostLast":  {stitched(0, 1, 2), damage{Lost: 1}},
		"Reordered": {stitched(0, 2, 1, 3), damage{Reordered: 1}},
		"Doubled":   {stitched(0, 1, 1, 2, 3), damage{Doubled: 1}},
		"Foreign":   {stitched(0, 1, 2, 3, 4), damage{}}, // of a longer stream
		"NoEnd":     {bytes.TrimSuffix(whole, []byte(done)), damage{Unterminated: 1}},
		"Cut":       {whole[:len(roleChunk())+len(contentChunk(0))+20], damage{Lost: 3, Unterminated: 1}},
		"Empty":     {nil, damage{Lost: 4, Unterminated: 1}},
	} {
		c.want.Streams = 1
		for _, r := range []io.Reader{bytes.NewReader(c.raw), iotest.OneByteReader(bytes.NewReader(c.raw))} {
			if diff := cmp.Diff(checkStream(r, 4, nil), c.want); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	broken := io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(errors.New("reset")))
	if got := checkStream(broken, 4, nil); got.Unterminated != 1 {
		t.Errorf("a stream that breaks after its end: %v", got)
	}
}

func TestScanModel(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m"}`: "m",
		` { "a" : 1 , "model" : "m" , "stream" : true }`:     "m",
		`{"messages":[{"model":"no"}],"model":"m"}`:          "m",
		`{"a":"\"model\":\"no\"","model":"m"}`:               "m",
		`{"a":"\\","model":"m"}`:                             "m",
		`{"a":["model","no"],"b":"model","model":"m"}`:       "m",
		`{"model":null,"a":"no"}`:                            "",
		`{"model":"unfinished`:                               "",
		`{"a":{"b":[{"model":"no"},{}]},"c":[],"model":"m"}`: "m",
		``:                                    "",
		string(prompt("bench", 64<<10, true)): "bench",
	} {
		start, end := scanModel([]byte(body))
		if got := body[start:end]; got != want {
			t.Errorf("%.60s: got %q, want %q", body, got, want)
		}
	}
}

func TestPromptSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		if got := len(prompt(modelGood, size, false)); got < size*9/10 || got > size {
			t.Errorf("%d bytes of %d", got, size)
		}
	}
	if got := len(completion()); got < 900 || got > 1300 {
		t.Errorf("answer of %d bytes", got)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	r := newResults(3)
	put := func(scenario, system string, micros ...int) {
		for _, us := range micros {
			r.add(scenario, system, sample{Requests: 1, CPU: time.Duration(us) * time.Microsecond, P50: time.Duration(us) * time.Microsecond})
		}
	}
	put("json-64", plain, 90, 100, 500)
	put("json-64", spillway, 110, 120, 130)
	put("json-256", plain, 100)
	put("json-256", spillway, 150)
	put("prompt-64k", plain, 100)
	put("prompt-64k", spillway, 151)
	put("failover", spillway, 180)
	put("rate-200", direct, 300)
	put("rate-200", plain, 700)
	put("rate-200", spillway, 740)
	put("rate-1000", direct, 300)
	put("rate-1000", plain, 290)
	put("rate-1000", spillway, 400)
	r.Idle = map[string]int64{plain: 10 << 20, spillway: 30 << 20}
	got := map[string]string{}
	for _, o := range r.outcomes() {
		got[o.Title] = o.target(o.Measured) + " " + o.Verdict
	}
	want := map[string]string{
		"JSON, 64 callers":                "1.20x goal met",
		"JSON, 256 callers":               "1.50x first landing met",
		"64 KiB prompt":                   "1.51x not met",
		"failing over, of own single try": "1.50x goal met",
		"added p50 at 200/s":              "1.10x goal met",
		"added p99 at 200/s":              "- ",
		"added p50 at 1,000/s":            "- ",
		"added p99 at 1,000/s":            "- ",
		"idle":                            "30 MB first landing met",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if err := r.broken(); err != nil {
		t.Errorf("a missed target is no error: %v", err)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	r := newResults(1)
	r.add("sse-fast", proxy, sample{Damage: damage{Streams: 9, Unterminated: 1}})
	if err := r.broken(); err != nil {
		t.Errorf("the reverse proxy is not ours: %v", err)
	}
	r.add("sse-fast", spillway, sample{Damage: damage{Streams: 9, Lost: 1}})
	r.add("json-64", spillway, sample{Requests: 9, Failed: 2, First: "status 500"})
	err := r.broken()
	for _, want := range []string{"9: 1 lost, 0 reordered, 0 doubled, 0 cut", "json-64 spillway: 2 of 9 requests failed: status 500"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestNoFigureOfFailures(t *testing.T) {
	t.Parallel()
	r := newResults(1)
	r.add("json-64", spillway, sample{Requests: 100, Failed: 2, CPU: 1})
	r.add("json-256", spillway, sample{Requests: 100, Failed: 1, CPU: 1})
	got := r.outcomes()
	if len(got) != 1 || got[0].Title != "JSON, 256 callers" {
		t.Errorf("%+v", got)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for args, ok := range map[string]bool{
		"": true, "-quick -skip-gateway": true, "-rounds 0": false, "-rounds 21": false, "-only (": false, "-nonsense": false, "surplus": false,
	} {
		if _, err := parseOptions(strings.Fields(args)); (err == nil) != ok {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestRowsNameScenarios(t *testing.T) {
	t.Parallel()
	for _, c := range scenarios(fullSize, 3) {
		r := newResults(1)
		for _, s := range columns {
			r.add(c.id, s, sample{Requests: 1, CPU: 1})
		}
		if len(r.outcomes()) == 0 {
			t.Errorf("%s is in no row", c.id)
		}
	}
	for _, n := range slices.Concat(fullSize.open, quickSize.open) {
		r := newResults(1)
		r.add(openID(n), plain, sample{Requests: 1})
		if len(r.outcomes()) == 0 {
			t.Errorf("%s is in no row", openID(n))
		}
	}
}
