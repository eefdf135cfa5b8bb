package node

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// Authentication types whose credential is not the organization's own key: a person's
// subscription, or the identity that a node has in its cloud.
const (
	AuthClaudeOAuth         = "claude_oauth"
	AuthCodexOAuth          = "codex_oauth"
	AuthGoogleADC           = "google_adc"
	AuthGoogleImpersonation = "google_impersonation"
)

// VendorHost reports whether a credential of the authentication type may go to the host of
// u: who sets a base_url must not get a person's token, or a node's own, sent to a host of
// their own. A stored key may go anywhere, since its seal names the host.
func VendorHost(authType string, u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	switch authType {
	case AuthClaudeOAuth:
		return u.Scheme == "https" && host == "api.anthropic.com"
	case AuthCodexOAuth:
		return u.Scheme == "https" && host == "chatgpt.com"
	case AuthGoogleADC, AuthGoogleImpersonation:
		return u.Scheme == "https" && vertexHostLocation(host) != ""
	}
	return true
}

// VertexPlace is where in Google's cloud calls go.
type VertexPlace struct {
	Root     string // the path before "/v1", escaped; empty on Google's own hosts
	Project  string
	Location string // a region, a multi-region ("us", "eu") or "global"
}

// VertexHost is the host that serves a location.
// https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
func VertexHost(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

var vertexRegion = regexp.MustCompile(`^[a-z]+(-[a-z]+)+[0-9]+$`)

// vertexHostLocation is the location that a host of Google's serves, or empty.
func vertexHostLocation(host string) string {
	if host == "aiplatform.googleapis.com" {
		return "global"
	}
	for _, multi := range []string{"us", "eu"} {
		if host == VertexHost(multi) {
			return multi
		}
	}
	if region, found := strings.CutSuffix(host, "-aiplatform.googleapis.com"); found && vertexRegion.MatchString(region) {
		return region
	}
	return ""
}

// VertexPlaceOf reads the place from a base URL, as people write it (the host alone, with
// "/v1", or any longer part of an address as Google's documentation shows it), and from the
// settings project and location, which go before it. What nobody said is empty.
func VertexPlaceOf(base *url.URL, settings json.RawMessage) VertexPlace {
	var said struct {
		Project  string `json:"project"`
		Location string `json:"location"`
	}
	_ = json.Unmarshal(settings, &said) // the admin API refuses what is wrong
	path := base.EscapedPath()
	place := VertexPlace{Root: strings.TrimRight(path, "/"), Location: vertexHostLocation(strings.ToLower(base.Hostname()))}
	if root, resource, found := strings.Cut(path, "/projects/"); found {
		place.Root = strings.TrimRight(root, "/")
		parts := strings.Split(resource, "/")
		place.Project, _ = url.PathUnescape(parts[0])
		if len(parts) > 2 && parts[1] == "locations" && parts[2] != "" {
			place.Location, _ = url.PathUnescape(parts[2])
		}
	}
	for _, version := range []string{"/v1", "/v1beta1"} {
		if root, found := strings.CutSuffix(place.Root, version); found {
			place.Root = strings.TrimRight(root, "/")
			break
		}
	}
	if said.Project != "" {
		place.Project = said.Project
	}
	if said.Location != "" {
		place.Location = said.Location
	}
	return place
}
