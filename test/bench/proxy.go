package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// proxyMain runs "bench proxy URL": the standard library's reverse proxy, with the
// headers of a gateway and nothing else of one.
func proxyMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: bench proxy URL")
	}
	target, err := url.Parse(args[0])
	if err != nil {
		return err
	}
	return serveChild(ctx, &httputil.ReverseProxy{
		Transport: newTransport(),
		ErrorLog:  log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Set("Authorization", "Bearer upstream-key")
		},
		ModifyResponse: func(res *http.Response) error {
			res.Header.Set("X-Bd-Request-Id", "bench")
			return nil
		},
	})
}

// newTransport keeps enough idle connections that none is dialed twice.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConns: 10_000, MaxIdleConnsPerHost: 10_000, DisableCompression: true}
}
