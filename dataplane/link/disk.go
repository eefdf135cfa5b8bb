package link

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// disk keeps the last two good envelopes of every organization, as they came:
// signed and with their checksum.
type disk struct{ dir string }

const (
	currentSuffix = ".snapshot"
	formerSuffix  = ".snapshot.1"
)

func openDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("configuration folder: %w", err)
	}
	probe, err := os.CreateTemp(dir, "writable-")
	if err != nil {
		return nil, fmt.Errorf("configuration folder is not writable: %w", err)
	}
	_ = probe.Close()
	return &disk{dir}, os.Remove(probe.Name())
}

// save writes an envelope so that a crash at any moment leaves it or the one before.
func (d *disk) save(org uuid.UUID, envelope []byte) error {
	current := filepath.Join(d.dir, org.String()+currentSuffix)
	temp, err := os.CreateTemp(d.dir, org.String()+".tmp-")
	if err != nil {
		return err
	}
	_, err = temp.Write(envelope)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		if rename := os.Rename(current, filepath.Join(d.dir, org.String()+formerSuffix)); rename != nil && !errors.Is(rename, os.ErrNotExist) {
			err = rename
		}
	}
	if err == nil {
		err = os.Rename(temp.Name(), current)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return d.sync()
}

// sync makes renames durable.
func (d *disk) sync() error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// load reads the newest good envelope of every organization. A bad one is logged
// and the one before it taken.
func (d *disk) load(key ed25519.PublicKey, log *slog.Logger) []*node.Snapshot {
	names := map[string]bool{}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		log.Error("configuration folder not readable", "error", err)
	}
	for _, e := range entries {
		if org, isFile := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".1"), currentSuffix); isFile {
			names[org] = true
		}
	}
	var out []*node.Snapshot
	for org := range names {
		for _, suffix := range []string{currentSuffix, formerSuffix} {
			s, err := d.read(key, org+suffix)
			if err == nil {
				out = append(out, s)
				break
			}
			log.Error("configuration on disk not usable", "file", org+suffix, "error", err)
		}
	}
	return out
}

func (d *disk) read(key ed25519.PublicKey, name string) (*node.Snapshot, error) {
	envelope, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		return nil, err
	}
	return node.Open(key, envelope)
}
