package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Failed sign-ins that are free: for one address, and from one network, which may be an
// office or a proxy with many people behind it.
const (
	addressBurst    = 10
	addressInterval = time.Minute
	networkBurst    = 100
	networkInterval = time.Second
)

// tokenLen is in bytes.
const tokenLen = 32

// People sign in with a password and go on with a session.
type People struct {
	store     *store.DB
	passwords *passwords
	addresses *limiter
	networks  *limiter
}

// PeopleConfig is what signing in needs.
type PeopleConfig struct {
	Store *store.DB // required
	// PasswordCost is what new hashes cost; zero: what OWASP asks for at least. Tests make it
	// cheap, and nothing else should.
	PasswordCost PasswordCost
}

// NewPeople returns the sign-in of people.
func NewPeople(cfg PeopleConfig) *People {
	if cfg.PasswordCost == (PasswordCost{}) {
		cfg.PasswordCost = defaultCost
	}
	return &People{store: cfg.Store, passwords: newPasswords(cfg.PasswordCost),
		addresses: newLimiter(addressBurst, addressInterval), networks: newLimiter(networkBurst, networkInterval)}
}

// HashPassword is how a password is stored.
func (p *People) HashPassword(ctx context.Context, password tenant.Secret) (string, error) {
	return p.passwords.hash(ctx, password)
}

// CreateByCommand makes an account with the password of the patch. It is for the command
// line: no request reaches it.
func (p *People) CreateByCommand(ctx context.Context, organization uuid.UUID, in tenant.UserPatch) (tenant.User, error) {
	if _, err := tenant.NewUser(in); err != nil {
		return tenant.User{}, err
	}
	hash, err := p.passwords.hash(ctx, *in.Password.Value)
	if err != nil {
		return tenant.User{}, err
	}
	return p.store.Users().CreateByCommand(ctx, organization, in, &hash)
}

// NewPassword makes a password that nobody guesses.
func NewPassword() tenant.Secret { return tenant.NewSecret(rand.Text()) }

// SignIn is an attempt to sign in.
type SignIn struct {
	Email        string
	Password     tenant.Secret
	Organization string // its name; empty: the only one that the address has an account in
	Source       string // host:port that the attempt comes from
	Client       string // what the browser calls itself
}

// Signed is a session that has just begun. Its token is nowhere else.
type Signed struct {
	Token   tenant.Secret
	Session tenant.Session
	User    tenant.User
}

// SignIn begins a session. Its refusals are the same, and take as long, whatever is wrong:
// the address, the password, the organization, or that the address has accounts in several.
func (p *People) SignIn(ctx context.Context, in SignIn) (Signed, error) {
	var out Signed
	err := p.limited(in.Email, in.Source, func() (ok bool, err error) {
		account, err := p.account(ctx, in)
		if err != nil {
			return false, err
		}
		ok, weak, err := p.passwords.check(ctx, account.PasswordHash, in.Password)
		if err != nil || !ok || account.UserID == uuid.Nil {
			return false, err
		}
		rehashed := ""
		if weak {
			if rehashed, err = p.passwords.hash(ctx, in.Password); err != nil {
				return false, err
			}
		}
		token := make([]byte, tokenLen)
		rand.Read(token) // never fails since Go 1.24
		text := base64.RawURLEncoding.EncodeToString(token)
		out.Token = tenant.NewSecret(text)
		out.Session, out.User, err = p.store.Sessions().Begin(ctx, account, sha256.Sum256([]byte(text)), tenant.ClientName(in.Client), rehashed)
		if errors.Is(err, store.ErrNoSession) {
			return false, nil // the account was changed this moment
		}
		return err == nil, err
	})
	if err != nil {
		return Signed{}, err
	}
	return out, nil
}

// account is the one that is meant, or one of nobody.
func (p *People) account(ctx context.Context, in SignIn) (store.Account, error) {
	nobody := store.Account{PasswordHash: p.passwords.nobody}
	if !storable(in.Email) || !storable(in.Organization) {
		return nobody, nil
	}
	accounts, err := p.store.Sessions().Accounts(ctx, in.Email)
	if err != nil {
		return nobody, err
	}
	org, named := uuid.Nil, in.Organization != ""
	if named {
		if org, _, err = p.store.OrganizationByName(ctx, in.Organization); err != nil {
			return nobody, err
		}
	}
	for _, a := range accounts {
		if named && a.OrganizationID == org || !named && len(accounts) == 1 {
			return a, nil
		}
	}
	return nobody, nil
}

// storable keeps text from the database that it cannot hold.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// limited lets an attempt through unless too many failed for its address or its network.
// Only failures count.
func (p *People) limited(email, source string, attempt func() (ok bool, err error)) error {
	hashed := sha256.Sum256([]byte(strings.ToLower(email))) // of any length
	address, network, now := string(hashed[:]), networkOf(source), time.Now()
	if wait := p.addresses.take(address, now); wait > 0 {
		return tenant.TooManyAttempts(wait)
	}
	if wait := p.networks.take(network, now); wait > 0 {
		p.addresses.giveBack(address)
		return tenant.TooManyAttempts(wait)
	}
	ok, err := attempt()
	if ok || err != nil {
		p.addresses.giveBack(address)
		p.networks.giveBack(network)
	}
	if err == nil && !ok {
		return tenant.SignInRefused()
	}
	return err
}

// networkOf is whom an address belongs to: of IPv6, the 64 bits that one customer gets.
func networkOf(source string) string {
	at, err := netip.ParseAddrPort(source)
	if err != nil {
		return source
	}
	bits := 64
	addr := at.Addr().Unmap()
	if addr.Is4() {
		bits = 32
	}
	network, err := addr.Prefix(bits)
	if err != nil {
		return source
	}
	return network.String()
}

// Resume returns who a session's token speaks for.
func (p *People) Resume(ctx context.Context, token string) (tenant.Principal, tenant.Session, error) {
	ended := tenant.Unauthenticated("the session has ended: sign in again")
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenLen) {
		return tenant.Principal{}, tenant.Session{}, ended
	}
	session, user, err := p.store.Sessions().Resume(ctx, sha256.Sum256([]byte(token)))
	if errors.Is(err, store.ErrNoSession) {
		return tenant.Principal{}, tenant.Session{}, ended
	}
	if err != nil {
		return tenant.Principal{}, tenant.Session{}, fmt.Errorf("looking up a session: %w", err)
	}
	return user.Principal(session.ID), session, nil
}

// ChangePassword replaces the caller's password. A wrong current one counts like a failed
// sign-in: whoever has a session only has no more tries than a stranger.
func (p *People) ChangePassword(ctx context.Context, by tenant.Principal, source string, current, next tenant.Secret) error {
	if err := tenant.ValidatePassword("new_password", next); err != nil {
		return err
	}
	hash, err := p.store.Sessions().PasswordHash(ctx, by)
	if err != nil {
		return err
	}
	if hash == "" {
		hash = p.passwords.nobody
	}
	err = p.limited(by.Email, source, func() (bool, error) {
		ok, _, err := p.passwords.check(ctx, hash, current)
		return ok, err
	})
	var refused *tenant.Error
	if errors.As(err, &refused) && refused.Kind == tenant.KindUnauthenticated {
		return tenant.WrongPassword()
	}
	if err != nil {
		return err
	}
	replaced, err := p.passwords.hash(ctx, next)
	if err != nil {
		return err
	}
	return p.store.Users().ChangePassword(ctx, by, replaced)
}
