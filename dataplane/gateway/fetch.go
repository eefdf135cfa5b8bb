package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// Limits of what is fetched for one request.
const (
	maxFiles     = 20
	maxFileBytes = maxBody // of all files together: as much as a caller could have sent
	fetchTime    = 20 * time.Second
)

// files are what the URLs of a request gave. Each is fetched once, whichever targets want
// it and whatever came of it.
type files struct {
	got   map[string]llm.File
	not   map[string]string // why, by URL
	bytes int64
	took  time.Duration // to fetch what the target that is tried now wants
}

// fetch gets the files that a target wants as bytes, within the time that the target has.
// What cannot be had is nowhere replaced: the target is not asked.
func (x *exchange) fetch(t *decide.Target, from *upstream.Client, wanted []llm.Wanted) *llm.CannotError {
	f := &x.across.files
	if f.got == nil {
		f.got, f.not = map[string]llm.File{}, map[string]string{}
	}
	if len(f.got)+len(wanted) > maxFiles {
		return &llm.CannotError{Field: wanted[0].Field, Reason: fmt.Sprintf("the target takes files as bytes only, and no more than %d are fetched for one request", maxFiles)}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(x.ctx, min(fetchTime, x.limit(t)))
	defer cancel()
	defer func() { f.took = time.Since(began) }()
	for _, w := range wanted {
		if _, failed := f.not[w.URL]; !failed {
			f.fetch(ctx, from, t, w.URL)
		}
		if why, failed := f.not[w.URL]; failed {
			return &llm.CannotError{Field: w.Field, Reason: "the target takes it as bytes only, and it could not be fetched: " + why}
		}
	}
	return nil
}

func (f *files) fetch(ctx context.Context, from *upstream.Client, t *decide.Target, url string) {
	left := maxFileBytes - f.bytes
	file, err := from.Fetch(ctx, t.Provider.OrgID, url, min(upstream.MaxFile, left))
	var refusal *upstream.FetchError
	switch {
	case errors.As(err, &refusal) && refusal.Large && left < upstream.MaxFile:
		f.not[url] = fmt.Sprintf("the files of the request are together larger than %d MiB", maxFileBytes>>20)
		return
	case err != nil:
		f.not[url] = err.Error()
		return
	}
	f.got[url] = file
	f.bytes += int64(len(file.Data))
}
