package tenant

import (
	"time"

	"github.com/spillway-gateway/spillway/api/node"
)

// Statuses of a provider's connection.
const (
	HealthUnverified = "unverified"
	HealthHealthy    = "healthy"
	// HealthUnhealthy is the only status that can take a provider out of service.
	HealthUnhealthy = "unhealthy"
)

// Health is what the last connection check found.
type Health struct {
	Status    string // unverified, healthy, unhealthy
	Detail    string
	CheckedAt *time.Time
	// Failures is how many checks in a row did not reach the provider.
	Failures int
}

// When a provider is checked again.
const (
	probeEvery = 5 * time.Minute
	// probeRetry is after a check that did not reach the provider, until that is believed.
	probeRetry = 10 * time.Second
	// probeUnreachable is after that was believed: the network heals by itself.
	probeUnreachable = time.Minute
	// probeTries is after how many checks in a row it is believed. One node's bad network
	// must not take a provider out of service for all.
	probeTries = 3
)

// After is the health once a check reported, and how long until the next check. An answer
// that says nothing of the credential changes nothing but what is said of it.
func (h Health) After(r node.ProbeReport, at time.Time) (Health, time.Duration) {
	next, wait := Health{Status: h.Status, Detail: r.Detail, CheckedAt: &at}, probeEvery
	switch r.Outcome {
	case node.ProbeOK:
		next.Status = HealthHealthy
	case node.ProbeRejected:
		next.Status = HealthUnhealthy
	case node.ProbeUnreachable:
		next.Failures, wait = h.Failures+1, probeRetry
		if next.Failures >= probeTries {
			next.Status, wait = HealthUnhealthy, probeUnreachable
		}
	case node.ProbeInconclusive:
		if h.Status == HealthUnhealthy && h.Failures > 0 {
			next.Status = HealthUnverified // it was unreachable, and is not any more
		}
	}
	return next, wait
}

// Probed reports whether a provider of the authentication type has a credential to check.
func Probed(authType string) bool { return secretKinds[authType] != secretNone }

// NeverProbedAuth are the authentication types that are never checked.
func NeverProbedAuth() (list []string) {
	for auth := range secretKinds {
		if !Probed(auth) {
			list = append(list, auth)
		}
	}
	return list
}
