package gateway_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Sockets do not work in a synctest bubble: a read that waits for the kernel is not
// durably blocked, so time would stand still. These are connections in memory that
// behave as TCP's do where it matters here: writes are buffered up to a window, what
// was written before a close still arrives, and writing to who is gone fails.

// window is how much a connection holds that its reader has not taken, in bytes.
const window = 64 << 10

var (
	errReset   = errors.New("connection reset by peer")
	errRefused = errors.New("connection refused")
)

// flow is one direction of a connection.
type flow struct {
	mu      sync.Mutex
	buf     []byte
	ended   error         // what a reader gets once buf is empty: the writer is gone
	left    bool          // the reader is gone
	changed chan struct{} // closed at each change
}

func newFlow() *flow { return &flow{changed: make(chan struct{})} }

// wake tells who waits that something changed; the lock is held.
func (f *flow) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// take moves bytes to p, or says what to wait for.
func (f *flow) take(p []byte) (n int, wait <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = copy(p, f.buf)
	f.buf = f.buf[n:]
	switch {
	case n > 0:
		f.wake()
	case len(p) > 0:
		err = f.ended
	}
	return n, f.changed, err
}

// put appends what fits into the window, or says what to wait for.
func (f *flow) put(p []byte) (n int, wait <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left || f.ended != nil {
		return 0, nil, errReset
	}
	if n = min(len(p), window-len(f.buf)); n > 0 {
		f.buf = append(f.buf, p[:n]...)
		f.wake()
	}
	return n, f.changed, nil
}

// end is the writer's going, leave the reader's.
func (f *flow) end(as error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = as
	f.wake()
}

func (f *flow) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.buf = true, nil
	f.wake()
}

// conn is one end of a connection.
type conn struct {
	in, out     *flow
	read, write deadline
	once        sync.Once
	gone        chan struct{} // closed by Close
}

func newConns() (a, b *conn) {
	x, y := newFlow(), newFlow()
	end := func(in, out *flow) *conn {
		c := &conn{in: in, out: out, gone: make(chan struct{})}
		c.read.expired, c.write.expired = make(chan struct{}), make(chan struct{})
		return c
	}
	return end(x, y), end(y, x)
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		if c.read.passed() {
			return 0, os.ErrDeadlineExceeded
		}
		select {
		case <-c.gone:
			return 0, net.ErrClosed
		default:
		}
		n, wait, err := c.in.take(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		c.await(wait, &c.read)
	}
}

func (c *conn) Write(p []byte) (total int, err error) {
	for {
		if c.write.passed() {
			return total, os.ErrDeadlineExceeded
		}
		n, wait, err := c.out.put(p[total:])
		total += n
		if err != nil || total == len(p) {
			return total, err
		}
		c.await(wait, &c.write)
	}
}

func (c *conn) await(wait <-chan struct{}, d *deadline) {
	select {
	case <-wait:
	case <-d.wait():
	case <-c.gone:
	}
}

// Close ends the connection as an orderly close does.
func (c *conn) Close() error { return c.end(io.EOF) }

// reset ends it as a RST does.
func (c *conn) reset() { _ = c.end(errReset) }

func (c *conn) end(as error) error {
	c.once.Do(func() {
		close(c.gone)
		c.out.end(as)
		c.in.leave()
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr                { return address{} }
func (c *conn) RemoteAddr() net.Addr               { return address{} }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.read.set(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.write.set(t) }
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.read.set(t), c.write.set(t))
}

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "192.0.2.1:1" }

// deadline closes a channel when it passes. Moving it keeps who waits waiting.
type deadline struct {
	mu      sync.Mutex
	moved   int
	expired chan struct{}
}

func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved++
	if isClosed(d.expired) {
		d.expired = make(chan struct{})
	}
	switch wait := time.Until(t); {
	case t.IsZero():
	case wait <= 0:
		close(d.expired)
	default:
		now := d.moved
		time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.moved == now {
				close(d.expired)
			}
		})
	}
	return nil
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expired
}

func (d *deadline) passed() bool { return isClosed(d.wait()) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// listener takes connections that dial makes.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), gone: make(chan struct{})}
}

func (l *listener) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	ours, theirs := newConns()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.gone:
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address{}, Err: errRefused}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address{}, Err: ctx.Err()}
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.gone) })
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }
