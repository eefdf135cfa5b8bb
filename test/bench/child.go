package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const listening = "listening on "

// serveChild serves on a free loopback port, tells the parent which on standard
// output, and ends with the parent: its end closes our standard input.
func serveChild(ctx context.Context, handler http.Handler) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	orphaned := make(chan struct{})
	go func() { // ends with the process: a read of standard input cannot be cancelled
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(orphaned)
	}()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	fmt.Println(listening + ln.Addr().String())
	select {
	case <-ctx.Done():
	case <-orphaned:
	case err := <-ended:
		return err
	}
	return errors.Join(server.Close(), ignoreClosed(<-ended))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// process is a system that runs beside the driver.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when it has, with err
	err   error
}

func start(cmd *exec.Cmd) (*process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process and waits for it: kindly, then not.
func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// startSelf runs this binary with other arguments and returns where it listens.
func startSelf(args ...string) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	out, in, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout = in
	p, err := start(cmd)
	_ = in.Close() // the child has its own
	if err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), listening)
	if !ok {
		p.stop()
		return nil, "", fmt.Errorf("bench %s did not start: %q, %v", args[0], line, err)
	}
	return p, "http://" + addr, nil
}
