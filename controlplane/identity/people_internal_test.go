package identity

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestPasswords(t *testing.T) {
	t.Parallel()
	p := newPasswords(PasswordCost{MemoryKiB: 64, Passes: 1, Threads: 1})
	secret := tenant.NewSecret("correct horse battery")
	first, err := p.hash(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.hash(t.Context(), secret)
	if err != nil || first == second || !strings.HasPrefix(first, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("got %s and %s, %v", first, second, err)
	}
	for text, want := range map[string]bool{"correct horse battery": true, "Correct horse battery": false, "": false, "correct horse battery\x00": false} {
		ok, weak, err := p.check(t.Context(), first, tenant.NewSecret(text))
		if err != nil || ok != want || weak {
			t.Errorf("%q: ok %v, weak %v, %v", text, ok, weak, err)
		}
	}
	if ok, weak, err := newPasswords(PasswordCost{MemoryKiB: 128, Passes: 1, Threads: 1}).check(t.Context(), first, secret); err != nil || !ok || !weak {
		t.Errorf("by stronger parameters: ok %v, weak %v, %v", ok, weak, err)
	}
	if ok, _, err := p.check(t.Context(), p.nobody, secret); err != nil || ok {
		t.Errorf("nobody's hash: ok %v, %v", ok, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for range atOnce {
		if _, err := p.slot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.hash(canceled, secret); !errors.Is(err, context.Canceled) {
		t.Errorf("with every slot taken: %v", err)
	}
}

// TestDefaultPasswordCost: what tests make cheap is dear where nobody says.
func TestDefaultPasswordCost(t *testing.T) {
	t.Parallel()
	hash, err := NewPeople(PeopleConfig{}).HashPassword(t.Context(), tenant.NewSecret("correct horse battery"))
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got %.40s, %v", hash, err)
	}
}

func FuzzDecodeHash(f *testing.F) {
	good, err := newPasswords(PasswordCost{MemoryKiB: 64, Passes: 1, Threads: 1}).hash(f.Context(), tenant.NewSecret("x"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, "", "$", "$argon2id$v=19$m=64,t=0,p=1$AAAA$" + strings.Repeat("A", 43), "$argon2id$v=19$m=4294967295,t=1,p=1$$",
		"$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=-1,t=1,p=1$AAAA$AAAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		a, _, hash, err := decodeHash(encoded)
		if err == nil && (a.MemoryKiB > maxArgonMemory || a.Passes < 1 || a.Passes > maxArgonPasses || a.Threads < 1 || len(hash) < saltLen) {
			t.Errorf("%q passes for a hash: %+v", encoded, a)
		}
	})
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	l := newLimiter(3, time.Minute)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fail := func(name string) (wait time.Duration) { return l.take(name, now) }
	for i := range 3 {
		if wait := fail("a"); wait != 0 {
			t.Fatalf("failure %d waits %v", i+1, wait)
		}
	}
	if wait := fail("a"); wait != time.Minute {
		t.Errorf("the fourth waits %v", wait)
	}
	if wait := fail("b"); wait != 0 {
		t.Errorf("another name waits %v", wait)
	}
	now = now.Add(59 * time.Second)
	if wait := fail("a"); wait != time.Second {
		t.Errorf("a second before: %v", wait)
	}
	now = now.Add(time.Second)
	if first, second := fail("a"), fail("a"); first != 0 || second != time.Minute {
		t.Errorf("after a minute one attempt is back: %v, then %v", first, second)
	}
	l.giveBack("a")
	if wait := fail("a"); wait != 0 {
		t.Errorf("what was given back is not there: %v", wait)
	}
	now = now.Add(time.Hour)
	for i := range 3 {
		if wait := fail("a"); wait != 0 {
			t.Errorf("an hour later failure %d waits %v: no more than all comes back, and all", i+1, wait)
		}
	}
	if wait := fail("a"); wait == 0 {
		t.Error("more than all came back")
	}
}

// Attempts at the same moment are no more than those one after another.
func TestLimiterAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for range 200 {
		l := newLimiter(10, time.Minute)
		var taken atomic.Int64
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if l.take("a", now) == 0 {
					taken.Add(1)
				}
			})
		}
		wg.Wait()
		if got := taken.Load(); got != 10 {
			t.Fatalf("%d attempts at once, want 10", got)
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(1, time.Minute)
	now := time.Now()
	for i := range maxNames {
		l.take(string([]byte{byte(i), byte(i >> 8), byte(i >> 16)}), now)
	}
	l.take("one more", now.Add(2*time.Minute)) // all others have theirs back
	if got := len(l.fullAt); got != 1 {
		t.Errorf("%d names are kept", got)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { l.take("x", now); l.giveBack("x") })
	}
	wg.Wait()
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7/32", "[::ffff:192.0.2.7]:1234": "192.0.2.7/32", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "pipe": "pipe",
	} {
		if got := networkOf(source); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}
