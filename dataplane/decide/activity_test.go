package decide

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

func TestActivity(t *testing.T) {
	t.Parallel()
	a, start := new(Activity), time.Unix(1_800_000_000, 0) // the beginning of a minute
	first := start.Unix() / 60
	a.Count(start, ResultServed, 0)
	a.Count(start, ResultServed, 2)
	a.Count(start.Add(59*time.Second), ResultFailed, 3)
	a.Count(start.Add(time.Minute), ResultRefused, 1)
	a.Count(start.Add(time.Minute), ResultLeft, 0)
	later := start.Add(60*time.Minute + 59*time.Second)
	want := []node.ActivityMinute{
		{Minute: first, Requests: 3, Failovers: 5, Rescued: 1, Failed: 1},
		{Minute: first + 1, Requests: 2, Failovers: 1},
	}
	if diff := cmp.Diff(want, a.LastHour(later)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], a.LastHour(later.Add(time.Second))); diff != "" {
		t.Errorf("a minute is forgotten after an hour (-want +got):\n%s", diff)
	}
	again := start.Add(keptMinutes * time.Minute)
	a.Count(again, ResultServed, 0)
	want = []node.ActivityMinute{{Minute: first + 1, Requests: 2, Failovers: 1}, {Minute: first + keptMinutes, Requests: 1}}
	if diff := cmp.Diff(want, a.LastHour(again)); diff != "" {
		t.Errorf("its place is another minute's (-want +got):\n%s", diff)
	}
	if got := a.LastHour(again.Add(3 * time.Hour)); len(got) != 0 {
		t.Errorf("hours later there is %v", got)
	}
}

// Requests that end together in a minute that nobody has counted yet are all in it.
func TestActivityAtOnce(t *testing.T) {
	t.Parallel()
	a, now := new(Activity), time.Unix(1_800_000_000, 0)
	const minutes, each = 2000, 8
	for i := range minutes {
		at := now.Add(time.Duration(i) * time.Minute)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range each {
			wg.Go(func() { <-begin; a.Count(at, ResultServed, 1) })
		}
		close(begin)
		wg.Wait()
		got := a.LastHour(at)
		if last := got[len(got)-1]; last.Requests != each || last.Failovers != each || last.Rescued != each {
			t.Fatalf("minute %d: %+v", i, last)
		}
	}
}

// Counts and uses of keys outlive a configuration, and a key that is gone is forgotten.
func TestWhatOutlivesAConfiguration(t *testing.T) {
	t.Parallel()
	board, now := NewBoard(), time.Unix(1_800_000_000, 0)
	org, stays, goes := uuid.New(), uuid.New(), uuid.New()
	snapshot := node.Snapshot{OrganizationID: org, Keys: []node.Key{{ID: stays, Hash: node.Hash{1}}, {ID: goes, Hash: node.Hash{2}}}}
	before, err := Compile(&snapshot, board)
	if err != nil {
		t.Fatal(err)
	}
	before.Activity.Count(now, ResultServed, 0)
	held, _ := before.Caller(stays)
	if use := held.Key.Use; !use.Note(now) || use.Note(now.Add(useEvery-time.Second)) || use.At() != now || use.OrganizationID != org || use.KeyID != stays {
		t.Errorf("a use within half a minute is told again: %+v", use)
	}
	snapshot.Keys = snapshot.Keys[:1]
	after, err := Compile(&snapshot, board)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Activity.LastHour(now); len(got) != 1 || got[0].Requests != 1 {
		t.Errorf("activity after another configuration: %v", got)
	}
	kept, _ := after.Caller(stays)
	if kept.Key.Use != held.Key.Use || !kept.Key.Use.Note(now.Add(useEvery)) {
		t.Error("the use of a key is not kept")
	}
	if got := len(board.keyUses[org]); got != 1 {
		t.Errorf("%d keys are remembered", got)
	}
}
