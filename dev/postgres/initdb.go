package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// initialise creates the cluster, its role and its database in a folder beside data/ and moves it there when it is complete, so that a
// first start that was killed leaves nothing that looks like a cluster.
func (c *Cluster) initialise(ctx context.Context) error {
	abandoned, _ := filepath.Glob(c.folder.file("init-*")) // fails only for a bad pattern
	for _, dir := range abandoned {
		_ = os.RemoveAll(dir) // takes space, does no harm
	}
	work, err := os.MkdirTemp(c.folder.path, "init-")
	if err != nil {
		return fmt.Errorf("the data folder %s is not writable: %w", c.folder.path, err)
	}
	defer os.RemoveAll(work) // else the next first start does it

	secrets := passwords{spillway: rand.Text(), superuser: rand.Text()}
	if err := c.createCluster(ctx, work, secrets); err != nil {
		return err
	}
	if err := c.folder.writePasswords(secrets); err != nil {
		return err
	}
	if err := os.Remove(c.folder.data()); err != nil && !errors.Is(err, os.ErrNotExist) { // empty: checkData looked
		return err
	}
	return os.Rename(filepath.Join(work, "data"), c.folder.data())
}

func (c *Cluster) createCluster(ctx context.Context, work string, secrets passwords) error {
	// initdb reads the password as the user it runs as, who may not read ours.
	pwfile, data := filepath.Join(work, "password"), filepath.Join(work, "data")
	if err := writeSecret(pwfile, secrets.superuser); err != nil {
		return err
	}
	if err := c.account.own(work); err != nil {
		return err
	}
	args := []string{
		"-D", data, "--auth=scram-sha-256", "--username=" + superuserName, "--pwfile=" + pwfile,
		"--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	single := []string{"--single", "-D", data, "-c", "exit_on_error=on", "-c", "log_min_error_statement=panic"}
	if !c.cfg.Durable {
		args = append(args, "--no-sync")
		single = append(single, notDurable...)
	}
	if err := c.run(ctx, "", "initdb", args...); err != nil {
		return err
	}
	// Single-user mode reads one statement a line; the passwords are letters and digits.
	statements := []string{
		"CREATE ROLE " + spillwayName + " LOGIN CREATEROLE CREATEDB PASSWORD '" + secrets.spillway + "'",
		"CREATE DATABASE " + spillwayName + " OWNER " + spillwayName,
	}
	return c.run(ctx, strings.Join(statements, "\n")+"\n", "postgres", append(single, "postgres")...)
}

// run runs a program to its end; its error carries what the program printed.
func (c *Cluster) run(ctx context.Context, stdin, program string, args ...string) error {
	var output strings.Builder
	cmd := c.account.command(ctx, c.binaries.path(program), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &output, &output
	p, err := startProcess(cmd, c.account)
	if err != nil {
		return err
	}
	<-p.exited
	if ctx.Err() != nil {
		return fmt.Errorf("%s was interrupted: %w", program, context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("%s failed (%w): %s", program, p.err, summary(output.String()))
	}
	return nil
}
