package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spillway-gateway/spillway/dev"
)

const maxDevNodes = 64

func runDev(ctx context.Context, c *invocation) error {
	listen := c.setting("listen", "SPILLWAY_LISTEN", "127.0.0.1:8080", "host:port of the admin API, the token endpoint and the first node")
	dataDir := c.setting("data-dir", "SPILLWAY_DATA_DIR", "./var", "folder for everything that outlives the process")
	nodes := c.flags.Int("nodes", 1, "number of data-plane nodes, each on a port of its own")
	told := c.metricsListen(dev.DefaultMetricsListen)
	ambient := c.toggle("ambient-credentials", "SPILLWAY_AMBIENT_CREDENTIALS", true, "let providers use the identity that you have in your cloud")
	readyFile := c.flags.String("ready-file", "", "file to write, when ready, with a JSON object that says how to reach it all")
	level := c.flags.String("log-level", "warn", "debug, info, warn or error")
	if err := c.parse(0); err != nil {
		return err
	}
	if *nodes < 1 || *nodes > maxDevNodes {
		return usage(fmt.Errorf("--nodes must be between 1 and %d", maxDevNodes))
	}
	log, err := c.logger(*level, false)
	if err != nil {
		return err
	}
	if *readyFile != "" {
		// A file from the run before must not say that this one is ready.
		if err := os.Remove(*readyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return usage(fmt.Errorf("--ready-file: %w", err))
		}
	}
	system, err := dev.Start(ctx, dev.Config{
		DataDir: *dataDir, Listen: *listen, Nodes: *nodes, Ambient: *ambient, MetricsListen: *told, Log: log,
		DatabaseURL: c.env("SPILLWAY_DATABASE_URL"), NATSURL: c.env("SPILLWAY_NATS_URL"),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // Ctrl-C while starting
		}
		return usage(err)
	}
	if err := announce(c.stdout, system.Info(), *readyFile, *dataDir); err != nil {
		return usage(errors.Join(err, system.Stop()))
	}
	err = system.Wait(ctx)
	fmt.Fprintln(c.stdout, "\nStopping.")
	return errors.Join(err, system.Stop())
}

// announce writes the ready file and tells a person the same, with something to
// paste.
func announce(w io.Writer, info dev.Info, readyFile, dataDir string) error {
	if readyFile != "" {
		if err := writeReadyFile(readyFile, info); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
	}
	where, err := url.Parse(info.DemoProviderURL)
	if err != nil {
		return err
	}
	control := where.JoinPath("control", "gpt-demo")
	fmt.Fprintf(w, `
Spillway is ready. Data: %s. Ctrl-C stops it.

  Admin API        %s/api/llm-gateway/admin   described at %s/docs; or spillway admin, in this folder
  Token endpoint   %s   client_id %s   client_secret %s
  Portal           %s/   email %s   password %s
  API key          %s
`, dataDir, info.BaseURL, info.BaseURL, info.TokenURL, info.ClientID, info.ClientSecret, info.BaseURL, info.AdminEmail, info.AdminPassword, info.APIKey)
	for i, u := range info.GatewayURLs {
		fmt.Fprintf(w, "  Gateway %-8d %s/v1\n", i+1, u)
	}
	if info.MetricsURL != "" {
		fmt.Fprintf(w, "  Metrics          %s\n", info.MetricsURL)
	}
	fmt.Fprintf(w, `  Demo provider    %s

Ask the route "demo":

  curl -i %s/v1/chat/completions -H 'x-bd-api-key: %s' -H 'content-type: application/json' -d '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'

Make its first target fail, and ask again:

  curl -X PUT %s -d '{"status":503}'
`, info.DemoProviderURL, info.GatewayURLs[0], info.APIKey, control)
	_, err = fmt.Fprintf(w, "\nHeal it:\n\n  curl -X DELETE %s\n", control)
	return err
}

// writeReadyFile writes the file whole or not at all, and for this user only: it
// holds secrets.
func writeReadyFile(path string, info dev.Info) error {
	raw, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".ready-")
	if err != nil {
		return err
	}
	_, err = temp.Write(append(raw, '\n'))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
