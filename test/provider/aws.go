package provider

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// awsAccount is what AWS knows of who may call: keys, and roles that may be assumed. The
// zero value knows nobody.
type awsAccount struct {
	mu    sync.Mutex
	keys  map[string]awsKey  // by access key id
	roles map[string]awsRole // by ARN
	given int                // how often a role was assumed
}

type awsKey struct {
	secret, token string
	ends          time.Time // zero: never
}

type awsRole struct {
	externalID string
	lasts      time.Duration
}

// AddAWSKeys makes keys known, with which requests may be signed.
func (s *Server) AddAWSKeys(accessKeyID, secretAccessKey, sessionToken string) {
	s.aws.add(accessKeyID, awsKey{secret: secretAccessKey, token: sessionToken})
}

// AddAWSRole lets every key assume a role that it asks for with the external id. The keys
// that come of it hold for lasts.
func (s *Server) AddAWSRole(arn, externalID string, lasts time.Duration) {
	s.aws.mu.Lock()
	defer s.aws.mu.Unlock()
	if s.aws.roles == nil {
		s.aws.roles = map[string]awsRole{}
	}
	s.aws.roles[arn] = awsRole{externalID, lasts}
}

// AWSRolesAssumed is how often a role was assumed.
func (s *Server) AWSRolesAssumed() int {
	s.aws.mu.Lock()
	defer s.aws.mu.Unlock()
	return s.aws.given
}

func (a *awsAccount) add(id string, k awsKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keys == nil {
		a.keys = map[string]awsKey{}
	}
	a.keys[id] = k
}

func (a *awsAccount) key(id string) (awsKey, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, known := a.keys[id]
	return k, known
}

// awsSignature is what an Authorization header of Signature Version 4 says.
type awsSignature struct {
	keyID, date, region, service string
	signed                       []string // names of headers
	signature                    string
}

// readSignature: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func readSignature(authorization string) (s awsSignature, ok bool) {
	rest, found := strings.CutPrefix(authorization, "AWS4-HMAC-SHA256 ")
	if !found {
		return s, false
	}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			scope := strings.Split(value, "/")
			if len(scope) != 5 || scope[4] != "aws4_request" {
				return s, false
			}
			s.keyID, s.date, s.region, s.service = scope[0], scope[1], scope[2], scope[3]
		case "SignedHeaders":
			s.signed = strings.Split(value, ";")
		case "Signature":
			s.signature = value
		}
	}
	return s, s.keyID != "" && s.signature != "" && slices.IsSorted(s.signed)
}

// verify is what is wrong with a signed request, or empty.
func (s awsSignature) verify(r *http.Request, body []byte, k awsKey, now time.Time) string {
	stamp := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", stamp)
	switch {
	case err != nil || stamp[:8] != s.date:
		return "x-amz-date is not the scope's"
	case now.Sub(at).Abs() > 5*time.Minute:
		return "signature expired"
	case r.Header.Get("X-Amz-Security-Token") != k.token:
		return "not the session's token"
	}
	must := []string{"host", "x-amz-date"}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || name == "content-type" {
			must = append(must, name)
		}
	}
	for _, name := range must {
		if !slices.Contains(s.signed, name) {
			return name + " is not signed"
		}
	}
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, strings.Join([]string{s.date, s.region, s.service, "aws4_request"}, "/"), hexSum(s.canonical(r, body))}, "\n")
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{s.date, s.region, s.service, "aws4_request"} {
		key = keyed(key, part)
	}
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(keyed(key, toSign))), []byte(s.signature)) != 1 {
		return "the signature does not match"
	}
	return ""
}

// canonical is the request as it is signed. A path is escaped once more than it is sent.
func (s awsSignature) canonical(r *http.Request, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString(r.Method + "\n" + awsEscaped(r.URL.EscapedPath(), "/") + "\n")
	query := r.URL.Query()
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, awsEscaped(name, "")+"="+awsEscaped(value, ""))
		}
	}
	slices.Sort(pairs)
	b.WriteString(strings.Join(pairs, "&") + "\n")
	for _, name := range s.signed {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{fmt.Sprint(r.ContentLength)}
		}
		for i, v := range values {
			values[i] = strings.Join(strings.Fields(v), " ")
		}
		b.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	b.WriteString("\n" + strings.Join(s.signed, ";") + "\n" + hexSum(body))
	return b.Bytes()
}

// awsEscaped escapes all but the unreserved characters, and those that stay.
func awsEscaped(text, stay string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-._~"+stay, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func keyed(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// signedBy is whose request it is, or why AWS refuses it. A signature that is wrong is a
// problem beside: whoever sends it does not know how to sign.
func (a *awsAccount) signedBy(r *http.Request, body []byte, service string, now time.Time) (refusal *fault, problem string) {
	s, ok := readSignature(r.Header.Get("Authorization"))
	if !ok {
		return &fault{status: 403, typ: "MissingAuthenticationTokenException", message: "Missing Authentication Token"}, ""
	}
	k, known := a.key(s.keyID)
	switch {
	case !known:
		return &fault{status: 403, typ: "UnrecognizedClientException", message: "The security token included in the request is invalid."}, ""
	case !k.ends.IsZero() && now.After(k.ends):
		return &fault{status: 403, typ: "ExpiredTokenException", message: "The security token included in the request is expired"}, ""
	case s.service != service:
		problem = "signed for the service " + s.service
	default:
		problem = s.verify(r, body, k, now)
	}
	if problem == "" {
		return nil, ""
	}
	return &fault{status: 403, typ: "InvalidSignatureException", message: "The request signature we calculated does not match the signature you provided."},
		"wrong signature of AWS: " + problem
}

// assumeRole is AWS's token service, as far as roles are assumed.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func (s *Server) assumeRole(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)) // what is cut off is not signed
	form, _ := url.ParseQuery(string(body))
	refusal, problem := s.aws.signedBy(r, body, "sts", time.Now())
	s.aws.mu.Lock()
	role, known := s.aws.roles[form.Get("RoleArn")]
	s.aws.mu.Unlock()
	behavior := s.script.next(form.Get("RoleArn"), "")
	switch {
	case behavior.Status >= 500:
		refusal = &fault{status: behavior.Status, typ: "ServiceUnavailable", message: "unavailable"}
	case refusal == nil && (form.Get("Action") != "AssumeRole" || form.Get("RoleSessionName") == ""):
		refusal = &fault{status: 400, typ: "ValidationError", message: "not a request to assume a role"}
	case refusal == nil && (!known || role.externalID != form.Get("ExternalId")):
		refusal = &fault{status: 403, typ: "AccessDenied", message: "User is not authorized to perform: sts:AssumeRole on resource: " + form.Get("RoleArn")}
	}
	record := Request{Time: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Model: form.Get("RoleArn")}
	if problem != "" {
		record.Problems = []string{problem}
	}
	s.ring.add(record)
	w.Header().Set("Content-Type", "text/xml")
	if refusal != nil {
		w.WriteHeader(refusal.status)
		fmt.Fprintf(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
			refusal.typ, escapedXML(refusal.message))
		return
	}
	id, k := "ASIA"+rand.Text()[:16], awsKey{secret: rand.Text(), token: rand.Text(), ends: time.Now().Add(role.lasts)}
	s.aws.add(id, k)
	s.aws.mu.Lock()
	s.aws.given++
	s.aws.mu.Unlock()
	fmt.Fprintf(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>`+
		`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials>`+
		`<AssumedRoleUser><Arn>%s</Arn><AssumedRoleId>A:b</AssumedRoleId></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>`,
		id, k.secret, k.token, k.ends.UTC().Format(time.RFC3339), escapedXML(form.Get("RoleArn")))
}

func escapedXML(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // to memory
	return b.String()
}
