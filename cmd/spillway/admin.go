package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spillway-gateway/spillway/api/client"
	"github.com/spillway-gateway/spillway/dev"
)

// act is one command of spillway admin: a noun, and a verb unless the noun has one act.
type act struct {
	noun, verb, args, summary string
	run                       func(ctx context.Context, a *adminCall) error
}

func (a act) name() string { return strings.TrimSpace(a.noun + " " + a.verb) }

func acts() []act {
	return slices.Concat(providerActs(), modelActs(), routeActs(), groupActs(), keyActs(), healthActs(), statusActs())
}

// adminCall is an act that was called.
type adminCall struct {
	*invocation
	*client.Client
	act    act
	output *string
}

func runAdmin(ctx context.Context, c *invocation) error {
	var words []string
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "-") || len(words) == 2 {
			break
		}
		words = append(words, arg)
	}
	if len(words) == 0 {
		return c.helpActs("", acts())
	}
	nouns := slices.DeleteFunc(acts(), func(a act) bool { return a.noun != words[0] })
	for _, a := range nouns {
		if a.verb != "" && (len(words) < 2 || a.verb != words[1]) {
			continue
		}
		c.args = c.args[len(strings.Fields(a.name())):]
		call := &adminCall{invocation: c, act: a}
		err := a.run(ctx, call)
		if errors.Is(err, flag.ErrHelp) {
			c.helped = true
			c.help("admin "+strings.TrimSpace(a.name()+" "+a.args), a.summary)
		}
		return err
	}
	switch {
	case len(nouns) == 0:
		return usage(fmt.Errorf("unknown command %q; see spillway admin", words[0]))
	case len(words) == 2:
		return usage(fmt.Errorf("unknown command %q; see spillway admin %s", words[0]+" "+words[1], words[0]))
	}
	return c.helpActs(words[0], nouns)
}

// helpActs lists commands.
func (c *invocation) helpActs(noun string, list []act) error {
	if noun == "" {
		fmt.Fprint(c.stdout, "Usage: spillway admin NOUN VERB [arguments] [flags]; with --help it lists the flags.\n\n")
	}
	t := newTable(c.stdout)
	for _, a := range list {
		t.row("  "+strings.TrimSpace(a.name()+" "+a.args), a.summary)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if noun == "" {
		_, err := fmt.Fprint(c.stdout, adminEnvironment)
		return err
	}
	return nil
}

const adminEnvironment = `
A model of a provider is written PROVIDER/MODEL. Names may be given where there are ids.

SPILLWAY_URL is the control plane's address. Who calls is a service account (SPILLWAY_CLIENT_ID and SPILLWAY_CLIENT_SECRET) or
an access token (SPILLWAY_TOKEN). With none of them set, it is the system that spillway dev runs in this folder.
`

// begin reads flags and arguments, and connects. An act declares its own flags before.
func (a *adminCall) begin(least, most int) (args []string, err error) {
	address := a.urlFlag()
	a.output = a.outputFlag()
	if args, err = a.parseAny(least, most); err != nil {
		return nil, err
	}
	if err := checkOutput(*a.output); err != nil {
		return nil, err
	}
	a.Client, err = a.connect(*address)
	return args, err
}

func (c *invocation) urlFlag() *string {
	return c.setting("url", "SPILLWAY_URL", "", "the control plane's address, such as https://gateway.example")
}

func (c *invocation) outputFlag() *string { return c.flags.String("o", "table", "table or json") }

func checkOutput(form string) error {
	if form != "table" && form != "json" {
		return usage(fmt.Errorf("-o %q: use table or json", form))
	}
	return nil
}

// connect makes a client of the control plane that the environment names, or else of the
// one that spillway dev runs in this folder.
func (c *invocation) connect(address string) (*client.Client, error) {
	cfg := client.Config{URL: address, ClientID: c.env("SPILLWAY_CLIENT_ID"), ClientSecret: c.env("SPILLWAY_CLIENT_SECRET"), Token: c.env("SPILLWAY_TOKEN"),
		TokenURL: c.env("SPILLWAY_TOKEN_URL"), UserAgent: "spillway"}
	switch someone := cfg.ClientID != "" || cfg.ClientSecret != "" || cfg.Token != ""; {
	case address == "" && !someone:
		if err := c.devSystem(&cfg); err != nil {
			return nil, err
		}
	case address == "":
		return nil, usage(errors.New("SPILLWAY_URL is not set: the control plane's address"))
	case !someone:
		return nil, usage(errors.New("set SPILLWAY_CLIENT_ID and SPILLWAY_CLIENT_SECRET (a service account's), or SPILLWAY_TOKEN"))
	case cfg.Token == "" && (cfg.ClientID == "" || cfg.ClientSecret == ""):
		return nil, usage(errors.New("SPILLWAY_CLIENT_ID and SPILLWAY_CLIENT_SECRET are needed both"))
	case cfg.Token != "":
		cfg.ClientID, cfg.ClientSecret = "", ""
	}
	made, err := client.New(cfg)
	return made, usage(err)
}

// devSystem fills in how to reach the system that spillway dev last ran in this folder. It
// must be on this machine: a folder that somebody else filled must not have provider
// credentials sent to wherever it says.
func (c *invocation) devSystem(cfg *client.Config) error {
	dir := c.env("SPILLWAY_DATA_DIR")
	if dir == "" {
		dir = "./var"
	}
	info, err := dev.Saved(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.BaseURL == "" {
		return usage(errors.New("SPILLWAY_URL is not set, and spillway dev does not run in this folder"))
	}
	if err != nil {
		return usage(err)
	}
	if !local(info.BaseURL) {
		return usage(fmt.Errorf("%s names an address that is not this machine's: set SPILLWAY_URL", dir))
	}
	cfg.URL, cfg.ClientID, cfg.ClientSecret = info.BaseURL, info.ClientID, info.ClientSecret
	return nil
}

func local(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// show prints an answer: as JSON as it came, or as a table.
func (a *adminCall) show(raw any, fill func(t *table)) error {
	if *a.output == "json" {
		return printJSON(a.stdout, raw)
	}
	t := newTable(a.stdout)
	fill(t)
	return t.flush()
}

// say tells what was done, unless the answer is printed as JSON.
func (a *adminCall) say(raw any, format string, args ...any) error {
	if *a.output == "json" {
		return printJSON(a.stdout, raw)
	}
	_, err := fmt.Fprintln(a.stdout, plainText(fmt.Sprintf(format, args...)))
	return err
}

func printJSON(w io.Writer, v any) error {
	if raw, ok := v.([]byte); ok {
		v = json.RawMessage(raw)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// confirm asks before something that cannot be taken back, unless yes. Without a terminal
// there is nobody to ask.
func (c *invocation) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !terminal(c.stdin) {
		return usage(errors.New("there is no terminal to ask on: give --yes"))
	}
	fmt.Fprintf(c.stderr, "%s [y/N] ", plainText(question))
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		fmt.Fprintln(c.stderr)
	}
	return errors.New("nothing is done")
}

// terminal reports whether a person is at the other end.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull && !sameAsNull(info)
}

// sameAsNull reports whether a file is the null device, which is no terminal although it is
// a device of characters.
func sameAsNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(null, info)
}

// maxSecretBytes bounds a credential that is read from a file.
const maxSecretBytes = 64 << 10

// secretFrom reads a credential from a file, or from standard input where path is "-".
func (c *invocation) secretFrom(name, path string) (string, error) {
	in := c.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", usage(fmt.Errorf("%s: %w", name, err))
		}
		defer func() { _ = f.Close() }()
		in = f
	} else if terminal(in) {
		fmt.Fprintf(c.stderr, "%s, then Ctrl-D: ", strings.TrimSuffix(strings.TrimPrefix(name, "--"), "-file"))
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxSecretBytes+1))
	secret := strings.TrimRight(string(raw), "\r\n")
	switch {
	case err != nil:
		return "", usage(fmt.Errorf("%s: %w", name, err))
	case secret == "":
		return "", usage(fmt.Errorf("%s: it is empty", name))
	case len(raw) > maxSecretBytes:
		return "", usage(fmt.Errorf("%s: it is longer than %d bytes", name, maxSecretBytes))
	}
	return secret, nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

func (c *invocation) listFlag(name, text string) *list {
	var l list
	c.flags.Var(&l, name, text)
	return &l
}

// note is the change note, or nil.
func (a *adminCall) note() func() *string {
	text := a.flags.String("note", "", "why; kept with the change")
	return func() *string {
		if *text == "" {
			return nil
		}
		return text
	}
}

func (a *adminCall) yesFlag() *bool { return a.flags.Bool("yes", false, "do not ask") }
