package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-gateway/spillway/cmd/spillway/manifest"
)

// maxManifestBytes bounds a file for apply.
const maxManifestBytes = 16 << 20

// applyCall is a call of apply or diff.
type applyCall struct {
	*invocation
	files                 *list
	address, output, note *string
	prune, rotate         *bool
	yes, dry              bool
	planned               *manifest.Plan
}

func (c *invocation) newApply() *applyCall {
	a := &applyCall{invocation: c, files: c.listFlag("f", "file to apply; may be given several times; - is standard input")}
	a.prune = c.flags.Bool("prune", false, "delete what the files do not name, of the kinds that they have a list of")
	a.rotate = c.flags.Bool("rotate", false, "send every credential that the files refer to, not only those that are needed")
	a.output, a.address = c.outputFlag(), c.urlFlag()
	return a
}

func runApply(ctx context.Context, c *invocation) error {
	a := c.newApply()
	a.note = c.flags.String("note", "", "change note of every change; default the names of the files")
	c.flags.BoolVar(&a.yes, "yes", false, "do not ask")
	c.flags.BoolVar(&a.dry, "dry-run", false, "only show what would change; the exit code is 3 where that is something")
	return a.run(ctx)
}

func runDiff(ctx context.Context, c *invocation) error {
	a := c.newApply()
	a.dry = true
	return a.run(ctx)
}

func (a *applyCall) run(ctx context.Context) error {
	if _, err := a.parseAny(0, 0); err != nil {
		return err
	}
	if err := checkOutput(*a.output); err != nil {
		return err
	}
	if len(*a.files) == 0 {
		return usage(errors.New("-f is needed: the file to apply"))
	}
	file, err := a.read()
	if err != nil {
		return usage(err)
	}
	c, err := a.connect(*a.address)
	if err != nil {
		return err
	}
	opt := manifest.Options{Prune: *a.prune, Rotate: *a.rotate, Env: a.env}
	if a.note != nil {
		opt.Note = cmp.Or(*a.note, "spillway apply "+strings.Join(file.Names, " "))
	}
	if a.planned, err = manifest.New(ctx, c, file, opt); err != nil {
		if _, ok := errors.AsType[*manifest.Problem](err); ok {
			return usage(err)
		}
		return err
	}
	if err := a.show(); err != nil {
		return err
	}
	switch {
	case len(a.planned.Changes) == 0:
		return nil
	case a.dry:
		return errChanges
	}
	if err := a.confirm(a.yes, "Apply?"); err != nil {
		return err
	}
	return a.planned.Apply(ctx, func(step string) { fmt.Fprintln(a.stderr, plainText("done: "+step)) })
}

// read reads the files.
func (a *applyCall) read() (*manifest.File, error) {
	var files []*manifest.File
	for _, path := range *a.files {
		name, dir, in := path, filepath.Dir(path), a.stdin
		if path == "-" {
			name, dir = "standard input", "."
			if !a.yes && !a.dry {
				return nil, errors.New("standard input is the file, so that it cannot be asked: give --yes or --dry-run")
			}
		} else {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }()
			in = f
		}
		content, err := io.ReadAll(io.LimitReader(in, maxManifestBytes+1))
		if err != nil {
			return nil, err
		}
		if len(content) > maxManifestBytes {
			return nil, fmt.Errorf("%s: larger than %d MiB", name, maxManifestBytes>>20)
		}
		file, err := manifest.Read(name, dir, content)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return manifest.Join(files...)
}

// show prints the changes.
func (a *applyCall) show() error {
	if *a.output == "json" {
		changes := a.planned.Changes
		if changes == nil {
			changes = []manifest.Change{}
		}
		return printJSON(a.stdout, map[string]any{"changes": changes})
	}
	if len(a.planned.Changes) == 0 {
		_, err := fmt.Fprintln(a.stdout, "No changes.")
		return err
	}
	colours := terminal(a.stdout) && a.env("NO_COLOR") == ""
	for _, line := range a.planned.Text() {
		fmt.Fprintln(a.stdout, coloured(plainText(line), colours))
	}
	var count [3]int
	for _, c := range a.planned.Changes {
		count[map[string]int{manifest.ActionCreate: 0, manifest.ActionUpdate: 1, manifest.ActionDelete: 2}[c.Action]]++
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d to create, %d to change, %d to delete.\n", count[0], count[1], count[2])
	return err
}

// coloured marks what is made, changed and deleted, on a terminal.
func coloured(line string, on bool) string {
	colour := map[byte]string{'+': "32", '~': "33", '-': "31"}[strings.TrimLeft(line, " ")[0]]
	if !on || colour == "" || strings.HasPrefix(line, "    ") {
		return line
	}
	return "\x1b[" + colour + "m" + line + "\x1b[0m"
}

func runExport(ctx context.Context, c *invocation) error {
	address := c.urlFlag()
	if _, err := c.parseAny(0, 0); err != nil {
		return err
	}
	client, err := c.connect(*address)
	if err != nil {
		return err
	}
	out, err := manifest.Export(ctx, client)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(out)
	return err
}
