package upstream

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// Guard refuses connections to addresses that no provider on the internet has:
// loopback, private, link-local with the metadata services, and the ranges that
// lead there by another way. It judges the address that is really dialed, after
// DNS, so that a name cannot lead inside.
type Guard struct {
	// Allow lists networks that may be reached although they are not public. Only
	// the operator sets it.
	Allow []netip.Prefix
	// AllowFiles lists networks from which callers may have images and documents fetched
	// although they are not public. Those of Allow are not among them: whoever has a
	// gateway key writes these addresses, and could look around in a network that is open
	// to a provider in it.
	AllowFiles []netip.Prefix
}

// special-purpose networks (IANA registries, RFC 6890 and its updates). The
// standard library's predicates miss several of them.
var guarded = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "::1/128", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

// Networks whose addresses carry an IPv4 address, and at which byte.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible, deprecated
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64, local use
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// Check returns an error when addr must not be dialed.
func (g *Guard) Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(addr) }
	if slices.ContainsFunc(g.Allow, within) {
		return nil
	}
	if !addr.IsValid() || slices.ContainsFunc(guarded, within) {
		return fmt.Errorf("%w: %s is not a public address", ErrForbidden, addr)
	}
	for _, e := range embedding {
		if !e.prefix.Contains(addr) {
			continue
		}
		bytes := addr.As16()
		if err := g.Check(netip.AddrFrom4([4]byte(bytes[e.at : e.at+4]))); err != nil {
			return fmt.Errorf("%w: %s leads to an address that is not public", ErrForbidden, addr)
		}
	}
	return nil
}

// control is a net.Dialer's Control: it sees each address just before the connect.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s %s", ErrForbidden, network, address)
	}
	return g.Check(at.Addr())
}
