// Command bench measures what the gateway costs, against the least that a gateway can
// cost: it prints CPU per request, added latency and memory per stream of spillway, of a
// bare reverse proxy and of a baseline gateway, all in one interleaved run on this
// machine, beside the targets.
//
// The driver starts every system as a process of its own (it runs itself again as
// "bench upstream", "bench proxy" and "bench baseline") and reads their CPU time and
// memory from /proc. It talks to loopback addresses only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

type options struct {
	spillway    string
	skipGateway bool
	quick       bool
	out         string
	rounds      int
	only        string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return serveChild(ctx, newUpstream())
		case "proxy":
			return proxyMain(ctx, args[1:])
		case "baseline":
			return baselineMain(ctx, args[1:])
		}
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	return run(ctx, o)
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.spillway, "spillway", "", "gateway `binary`; empty builds ./cmd/spillway")
	flags.BoolVar(&o.skipGateway, "skip-gateway", false, "measure without the gateway")
	flags.BoolVar(&o.quick, "quick", false, "one small round, under a minute")
	flags.StringVar(&o.out, "out", "", "write the results as JSON to this `file`")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of which the median counts")
	flags.StringVar(&o.only, "only", "", "scenarios to run, a `regexp` over their ids")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.quick {
		o.rounds = 1
	}
	if o.rounds < 1 || o.rounds > 20 {
		return o, errors.New("-rounds must be between 1 and 20")
	}
	_, err := regexp.Compile(o.only)
	return o, err
}

// maxRun ends a run that hangs; a whole one takes under four minutes.
const maxRun = 8 * time.Minute

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	size := fullSize
	if o.quick {
		size = quickSize
	}
	b, err := newBench(ctx, o, size)
	if err != nil {
		return err
	}
	defer b.close()
	res, err := b.measure(ctx, o.rounds)
	if err != nil {
		return err
	}
	fmt.Print(res.table())
	if o.out != "" {
		if err := res.write(o.out); err != nil {
			return err
		}
	}
	return res.broken()
}
