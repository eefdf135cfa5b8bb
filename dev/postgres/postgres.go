// Package postgres runs one PostgreSQL cluster in a folder, for `spillway dev` and the tests.
//
// The folder holds the cluster itself (data/), the passwords of its two roles (mode 0600), the server's log and a lock. It needs the
// `postgres` and `initdb` programs and nothing else: no client library, no pg_ctl, no superuser on the machine.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// Role and database that the gateway uses; the role is not a superuser but may create roles and databases.
	spillwayName = "spillway"
	// Role that initdb creates.
	superuserName = "postgres"

	// oldClusterWait bounds the wait for a postmaster whose owner was killed and that is still shutting down.
	oldClusterWait = 15 * time.Second
	// stopWait is how long a fast shutdown, and then an immediate one, may take before the next stronger signal.
	stopWait = 10 * time.Second
	// portTries is how many ports are tried when another program takes the one chosen before postgres listens on it.
	portTries = 3
	pollEvery = 5 * time.Millisecond
)

var (
	errPortTaken  = errors.New("the port was taken")
	errStillInUse = errors.New("processes of an earlier cluster are still running")
)

// Config says where the cluster lives and how careful it is with its data.
type Config struct {
	Dir     string       // created if missing; required
	BinDir  string       // folder with `postgres` and `initdb`; empty: FindBinaries
	Log     *slog.Logger // nil: no log
	Durable bool         // false is for tests: a power cut may lose the cluster, and everything is faster
}

// Cluster is a running PostgreSQL. Stop it before the program ends; if the program is killed, Linux stops it.
type Cluster struct {
	cfg       Config
	folder    *folder
	binaries  binaries
	account   account
	passwords passwords
	port      int
	server    *process

	stopOnce sync.Once
	stopErr  error
	stopping chan struct{}
	done     chan struct{}
	err      error // written before done is closed
}

// Start creates the cluster in cfg.Dir if there is none, and returns when it accepts connections. ctx bounds the start only. Every error
// is one line for the person who chose the folder.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Dir == "" {
		return nil, errors.New("postgres: Config.Dir is required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	begun := time.Now()
	bin, err := openBinaries(ctx, cfg.BinDir)
	if err != nil {
		return nil, err
	}
	dir, err := openFolder(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, folder: dir, binaries: bin, stopping: make(chan struct{}), done: make(chan struct{})}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, dir.close())
	}
	go c.watch()
	cfg.Log.Info("PostgreSQL is ready", "version", bin.version, "port", c.port, "dir", dir.path, "took", time.Since(begun))
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.account, err = chooseAccount(c.folder.data(), filepath.Join(c.binaries.dir, "postgres")); err != nil {
		return err
	}
	exists, err := c.folder.checkData(c.binaries)
	if err != nil {
		return err
	}
	if !exists {
		if err := c.initialise(ctx); err != nil {
			return err
		}
	}
	if c.passwords, err = c.folder.readPasswords(); err != nil {
		return err
	}
	if err := c.account.own(c.folder.data()); err != nil {
		return err
	}
	deadline := time.Now().Add(oldClusterWait)
	if err := c.folder.waitForOldPostmaster(ctx, deadline); err != nil {
		return err
	}
	return c.launch(ctx, deadline)
}

// launch starts the server, again if its port was taken in the meantime or if orphaned backends of a killed postmaster still hold the
// shared memory, which they leave within moments.
func (c *Cluster) launch(ctx context.Context, deadline time.Time) error {
	for taken := 0; ; {
		port, err := freePort()
		if err != nil {
			return err
		}
		err = c.launchOnce(ctx, port)
		switch {
		case errors.Is(err, errPortTaken) && taken < portTries:
			taken++
		case errors.Is(err, errStillInUse) && time.Now().Before(deadline):
			if err := pause(ctx, 10*pollEvery); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (c *Cluster) launchOnce(ctx context.Context, port int) error {
	log, offset, err := c.folder.openLog()
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := c.account.command(context.WithoutCancel(ctx), c.binaries.path("postgres"), serverArgs(c.folder.data(), port, c.cfg.Durable)...)
	cmd.Stdout, cmd.Stderr = log, log
	server, err := startProcess(cmd, c.account)
	if err != nil {
		return err
	}
	if err := c.waitReady(ctx, server, offset); err != nil {
		return errors.Join(err, server.stop())
	}
	c.port, c.server = port, server
	return nil
}

// waitReady polls the status line of postmaster.pid, which is there for this purpose: pg_ctl waits in the same way.
func (c *Cluster) waitReady(ctx context.Context, server *process, logOffset int64) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-server.exited:
			return startError(c.folder.logSince(logOffset))
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL was not ready in time: %w", context.Cause(ctx))
		case <-tick.C:
			if pid, status := c.folder.postmaster(); pid == server.pid() && status == "ready" {
				return nil
			}
		}
	}
}

func startError(log string) error {
	switch reason := summary(log); {
	case strings.Contains(log, "could not create any TCP/IP sockets"):
		return fmt.Errorf("PostgreSQL did not start: %w: %s", errPortTaken, reason)
	case strings.Contains(log, "pre-existing shared memory block"):
		return fmt.Errorf("PostgreSQL did not start: %w: %s", errStillInUse, reason)
	default:
		return fmt.Errorf("PostgreSQL did not start: %s", reason)
	}
}

func serverArgs(data string, port int, durable bool) []string {
	args := []string{
		"-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "jit=off",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "min_wal_size=32MB", "-c", "max_wal_size=512MB",
		"-c", "logging_collector=off", "-c", "log_destination=stderr", "-c", "log_checkpoints=off", "-c", "lc_messages=C",
	}
	if !durable {
		args = append(args, notDurable...)
	}
	return args
}

var notDurable = []string{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"}

// URL connects to a database as the role "spillway": it may create roles and databases, and owns the database "spillway".
func (c *Cluster) URL(database string) string {
	return c.url(spillwayName, c.passwords.spillway, database)
}

// SuperuserURL connects to a database as the superuser "postgres".
func (c *Cluster) SuperuserURL(database string) string {
	return c.url(superuserName, c.passwords.superuser, database)
}

func (c *Cluster) url(role, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(role, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Done is closed when postgres has exited; Err then says why.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err is nil while postgres runs and after Stop; else it says how postgres ended by itself.
func (c *Cluster) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

func (c *Cluster) watch() {
	<-c.server.exited
	select {
	case <-c.stopping:
	default:
		c.err = fmt.Errorf("PostgreSQL stopped by itself (%v): see %s", c.server.state(), c.folder.log())
	}
	close(c.done)
}

// Stop ends the sessions, shuts the cluster down and releases the folder. It may be called again, and after postgres exited by itself.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		close(c.stopping)
		err := c.server.stop()
		<-c.done
		c.stopErr = errors.Join(err, c.folder.close())
	})
	return c.stopErr
}

// stop asks for a fast shutdown, then for an immediate one, then kills. It returns at once if the process has exited.
func (p *process) stop() error {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		_ = p.signal(signal) // fails only if it has exited
		select {
		case <-p.exited:
			return nil
		case <-time.After(stopWait):
		}
	}
	_ = p.signal(os.Kill)
	<-p.exited
	return fmt.Errorf("PostgreSQL (pid %d) did not stop and was killed", p.pid())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("choose a port for PostgreSQL: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
