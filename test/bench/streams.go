package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// streams runs total streams, some at a time, begun a gap apart, and checks each.
func (s *system) streams(ctx context.Context, callers, total int, gap time.Duration, path string, body []byte, events int) sample {
	var mu sync.Mutex
	var sum damage
	out := closedLoop(callers, total, func(i int) error {
		if i < callers { // only the first of each waits its turn
			time.Sleep(time.Duration(i) * gap)
		}
		res, err := s.post(ctx, path, body)
		d := damage{Streams: 1, Lost: events, Unterminated: 1}
		if err == nil {
			d = checkStream(res.Body, events, nil)
			_ = res.Body.Close()
		}
		mu.Lock()
		sum.add(d)
		mu.Unlock()
		return err
	})
	out.Damage, out.Events = sum, total*events
	return out
}

// opening bounds how many streams are being opened at a time: a listen queue is finite.
const opening = 128

// openStreams opens n streams that fall silent, calls measure while all are open, lets
// them go on and checks them.
func (s *system) openStreams(ctx context.Context, n int, upstream string, measure func() error) (sample, error) {
	body := prompt(modelHold, 1<<10, true)
	var mu sync.Mutex
	var sum damage
	var failed failures
	var open, ended sync.WaitGroup
	slots := make(chan struct{}, opening)
	begun := time.Now()
	open.Add(n)
	for range n {
		slots <- struct{}{}
		ended.Go(func() {
			opened := sync.OnceFunc(func() { open.Done(); <-slots })
			defer opened()
			d := damage{Streams: 1, Lost: holdEvents, Unterminated: 1}
			res, err := s.post(ctx, chatPath, body)
			if err == nil {
				d = checkStream(res.Body, holdEvents, func(n int) {
					if n == holdBefore-1 {
						opened()
					}
				})
				_ = res.Body.Close()
			}
			failed.note(err)
			mu.Lock()
			sum.add(d)
			mu.Unlock()
		})
	}
	open.Wait()
	err := measure()
	if releaseErr := release(ctx, upstream); err == nil {
		err = releaseErr
	}
	ended.Wait()
	out := sample{Requests: n, Events: n * holdEvents, Wall: time.Since(begun), Damage: sum}
	failed.into(&out)
	return out, err
}

func release(ctx context.Context, upstream string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream+"/release", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("release: %s", res.Status)
	}
	return nil
}
