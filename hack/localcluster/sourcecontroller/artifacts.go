// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// artifacts keeps what was fetched in a folder, so that a release can be changed while its repository is away.
type artifacts struct{ dir string }

// store writes the content for the source and returns the artifact that points to it.
func (a artifacts) store(kind string, source client.Object, name, revision string, content []byte) (*fluxmeta.Artifact, error) {
	path := filepath.Join(a.folder(kind, source), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store the artifact: %w", err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return nil, fmt.Errorf("store the artifact: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, fmt.Errorf("store the artifact: %w", err)
	}
	relative, err := filepath.Rel(a.dir, path)
	if err != nil {
		return nil, fmt.Errorf("store the artifact: %w", err)
	}
	size := int64(len(content))
	return &fluxmeta.Artifact{
		Digest:         digest(content),
		Path:           relative,
		URL:            (&url.URL{Scheme: "file", Path: path}).String(),
		Revision:       revision,
		LastUpdateTime: metav1.Now(),
		Size:           &size,
	}, nil
}

// load returns the stored content of an artifact, or nil when it is not there any more.
func (a artifacts) load(artifact *fluxmeta.Artifact) ([]byte, error) {
	if artifact == nil {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(a.dir, artifact.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the artifact: %w", err)
	}
	if digest(content) != artifact.Digest {
		return nil, nil
	}
	return content, nil
}

// remove forgets all that was stored for the source.
func (a artifacts) remove(kind string, source client.Object) error {
	if err := os.RemoveAll(a.folder(kind, source)); err != nil {
		return fmt.Errorf("remove the artifact: %w", err)
	}
	return nil
}

func (a artifacts) folder(kind string, source client.Object) string {
	return filepath.Join(a.dir, kind, source.GetNamespace(), source.GetName())
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
