package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// ClassifyResult judges a result with the code that judges a real one.
func (s *server) ClassifyResult(_ context.Context, r admin.ClassifyResultRequestObject) (admin.ClassifyResultResponseObject, error) {
	evidence, err := evidenceOf(r.Body, time.Now())
	if err != nil {
		return nil, err
	}
	return admin.ClassifyResult200JSONResponse(showVerdict(decide.Classify(evidence))), nil
}

func evidenceOf(b *admin.UpstreamResult, now time.Time) (decide.Evidence, error) {
	if b.Status < 100 || b.Status > 599 {
		return decide.Evidence{}, tenant.Invalid("status", "status must be between 100 and 599")
	}
	e := decide.Evidence{Phase: decide.Answered, Status: b.Status, Header: http.Header{}, Now: now}
	if b.Phase != nil {
		switch *b.Phase {
		case admin.UpstreamPhaseAnswered:
		case admin.UpstreamPhaseStream:
			e.Cause = decide.ErrorInside
		default:
			return decide.Evidence{}, tenant.Invalid("phase", "phase must be 'answered' or 'stream'")
		}
	}
	// Any other status ends the attempt before there is a stream.
	if e.Cause == decide.ErrorInside && (e.Status < 200 || e.Status > 299) {
		return decide.Evidence{}, tenant.Invalid("status", "status must be between 200 and 299 when phase is 'stream'")
	}
	readHeaders(e.Header, b.Headers)
	if b.Body != nil {
		e.Body = []byte(*b.Body)
	}
	return e, nil
}

func showVerdict(v decide.Verdict) admin.UpstreamVerdict {
	out := admin.UpstreamVerdict{Class: admin.UpstreamClass(v.Class), Failover: v.Failover, Message: v.Message,
		Health: orNull[admin.HealthKind](nil), RetryAfterSecs: orNull[float64](nil)}
	if kind := admin.HealthKind(v.Health); kind != "" {
		out.Health = orNull(&kind)
	}
	if v.HasRetry {
		out.RetryAfterSecs = orNull(new(v.RetryAfter.Seconds()))
	}
	return out
}
