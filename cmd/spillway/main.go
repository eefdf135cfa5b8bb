// Command spillway is a multi-tenant LLM gateway: one binary that is its control
// plane, its data plane, or for trying and developing the whole product at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Exit codes. Scripts may rely on them.
const (
	exitOK      = 0
	exitFailed  = 1 // it ran, and then something broke
	exitUsage   = 2 // it could not start: flags, environment, ports, folders, servers
	exitChanges = 3 // nothing broke, and there are changes that were asked for and not made
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	tuneMemory(os.Getenv)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// command is one of the program's commands.
type command struct {
	name, summary string
	run           func(ctx context.Context, c *invocation) error
}

func commands() []command {
	return []command{
		{"dev", "run the whole product in one process, with its own Postgres and NATS", runDev},
		{"controlplane", "run the admin API and the publisher of configuration", runControlPlane},
		{"dataplane", "run one data-plane node", runDataPlane},
		{"migrate", "bring the database to this version's schema", runMigrate},
		{"organization", "create an organization and its first service account", runOrganization},
		{"user", "create a person who can sign in, such as an organization's first administrator", runUser},
		{"admin", "manage providers, routes, keys and more of an organization, over the admin API", runAdmin},
		{"apply", "make an organization's configuration what a file says", runApply},
		{"diff", "show what apply would change; the exit code is 3 where that is something", runDiff},
		{"export", "write an organization's configuration as a file for apply", runExport},
		{"keygen", "make an installation's keys, as environment variables", runKeygen},
		{"demo-provider", "run a provider that speaks the dialects and fails on command", runDemoProvider},
		{"version", "print the version", runVersion},
	}
}

// invocation is what a command was called with.
type invocation struct {
	flags  *flag.FlagSet
	args   []string
	env    func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	wrong  error // the first setting that cannot be read
	helped bool  // a command of commands has printed its own help
}

// help prints what a command is for and its flags.
func (c *invocation) help(name, summary string) {
	fmt.Fprintf(c.stdout, "spillway %s: %s\n\nFlags:\n", name, summary)
	c.flags.SetOutput(c.stdout)
	c.flags.PrintDefaults()
}

// errChanges ends a command that found changes and was not asked to make them.
var errChanges = errors.New("there are changes")

// usageError is a mistake of the caller's, or a start that cannot be.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		printHelp(stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		inv := &invocation{flags: flag.NewFlagSet(c.name, flag.ContinueOnError), args: args[1:], env: env, stdin: stdin, stdout: stdout, stderr: stderr}
		inv.flags.SetOutput(io.Discard)
		err := c.run(ctx, inv)
		if errors.Is(err, flag.ErrHelp) {
			if !inv.helped {
				inv.help(c.name, c.summary)
			}
			return exitOK
		}
		if err == nil {
			return exitOK
		}
		if errors.Is(err, errChanges) {
			return exitChanges
		}
		fmt.Fprintf(stderr, "spillway %s: %s\n", c.name, plainText(oneLine(err)))
		if errors.As(err, new(usageError)) {
			return exitUsage
		}
		return exitFailed
	}
	fmt.Fprintf(stderr, "spillway: unknown command %q; see spillway help\n", args[0])
	return exitUsage
}

func printHelp(w io.Writer) {
	fmt.Fprint(w, "Spillway is a multi-tenant LLM gateway.\n\nUsage: spillway COMMAND [flags]; spillway COMMAND --help lists the flags.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-14s %s\n", c.name, c.summary)
	}
}

// oneLine keeps an error to one line: the first is the cause, what follows came of it.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")), " ")
}

// parseAny reads flags and arguments in any order, as people type them; what follows "--"
// is arguments.
func (c *invocation) parseAny(least, most int) (args []string, err error) {
	for rest := c.args; ; {
		if err := c.flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usage(err)
		}
		left := c.flags.Args()
		if n := len(rest) - len(left); n > 0 && rest[n-1] == "--" || len(left) == 0 {
			args = append(args, left...)
			break
		}
		args, rest = append(args, left[0]), left[1:]
	}
	switch {
	case c.wrong != nil:
		return nil, usage(c.wrong)
	case len(args) > most:
		return nil, usage(fmt.Errorf("unexpected argument %q", args[most]))
	case len(args) < least:
		return nil, usage(errors.New("an argument is missing; see --help"))
	}
	return args, nil
}

// parse reads the flags and refuses anything left over but want arguments.
func (c *invocation) parse(want int) error {
	if err := c.flags.Parse(c.args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usage(err)
	}
	if c.wrong != nil {
		return usage(c.wrong)
	}
	if c.flags.NArg() > want {
		return usage(fmt.Errorf("unexpected argument %q", c.flags.Arg(want)))
	}
	if c.flags.NArg() < want {
		return usage(errors.New("an argument is missing; see --help"))
	}
	return nil
}

// setting is a flag whose default comes from the environment, as its usage says.
// A secret has no flag: arguments can be read by every user of the machine.
func (c *invocation) setting(name, variable, otherwise, text string) *string {
	value := otherwise
	if v := c.env(variable); v != "" {
		value = v
	}
	return c.flags.String(name, value, text+" ("+variable+")")
}

// toggle is setting for what is on or off.
func (c *invocation) toggle(name, variable string, otherwise bool, text string) *bool {
	if on, err := strconv.ParseBool(c.env(variable)); err == nil {
		otherwise = on
	} else if c.env(variable) != "" {
		c.wrong = fmt.Errorf("%s: must be true or false", variable)
	}
	return c.flags.Bool(name, otherwise, text+" ("+variable+")")
}

// needed reads a variable that must be set.
func (c *invocation) needed(variable, what string) (string, error) {
	if v := c.env(variable); v != "" {
		return v, nil
	}
	return "", usage(fmt.Errorf("%s is not set: %s", variable, what))
}

// logger writes to standard error, as text or JSON lines.
func (c *invocation) logger(level string, json bool) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage(fmt.Errorf("--log-level %q: use debug, info, warn or error", level))
	}
	options := &slog.HandlerOptions{Level: l}
	if json {
		return slog.New(slog.NewJSONHandler(c.stderr, options)), nil
	}
	return slog.New(slog.NewTextHandler(c.stderr, options)), nil
}

func runVersion(_ context.Context, c *invocation) error {
	if err := c.parse(0); err != nil {
		return err
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, err := fmt.Fprintln(c.stdout, "spillway", version)
	return err
}
