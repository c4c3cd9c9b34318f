// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo runs the whole product on a real local control plane, creates a
// sample deployment with styrminctl, upgrades it, and says what to try. It ends on
// Ctrl-C and goes on where it was at its next start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/styrmin/styrmin/test/system"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second Ctrl-C ends it at once.
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errStopped):
		fmt.Println("Stopped before everything was up.")
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// errStopped says that a person ended the demo before everything was up.
var errStopped = errors.New("stopped")

func run(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	dir := fs.String("dir", ".demo", "Folder that holds the demo's state.")
	listen := fs.String("listen", "127.0.0.1:8080", "Address of the server.")
	charts := fs.String("charts-address", "127.0.0.1:8879", "Address of the local chart repository.")
	kubeconfig := fs.String("kubeconfig", "", "An existing cluster to use instead of a local one, with an administrator's rights. "+
		"If Flux runs in it, --charts-address has to be one that Flux reaches.")
	image := fs.String("image", "", "Image of the sample's containers, that the pods of an existing cluster can run. "+
		"Those of the sample exist on the local cluster alone.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	state, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	s, err := system.Start(ctx, system.Options{
		Dir:          state,
		Localcluster: "bin/localcluster",
		Server:       "bin/styrmin-server",
		Manager:      "bin/manager",
		CRDs:         "config/crd/bases",
		Kubeconfig:   *kubeconfig,
		Listen:       *listen,
		Charts:       *charts,
		Progress:     os.Stdout,
	})
	if err != nil {
		return orStopped(ctx, err)
	}
	defer func() {
		fmt.Println("\nStopping the manager, the server and the control plane")
		if failed := s.Stop(); failed != nil {
			err = fmt.Errorf("not everything ended cleanly: %w", failed)
		}
	}()
	shop := &sample{system: s, file: filepath.Join(*dir, "shop.yaml"), image: *image}
	if err := shop.setUp(ctx); err != nil {
		return orStopped(ctx, err)
	}
	kubectl, err := linkKubectl(s)
	if err != nil {
		return err
	}
	tellWhatToTry(s, shop, kubectl, *dir)
	return s.Wait(ctx)
}

// orStopped tells an error that only says that the demo was stopped.
func orStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errStopped
	}
	return err
}

// linkKubectl puts the local cluster's kubectl beside the other programs and
// returns how to call it: on an existing cluster, by the person's own.
func linkKubectl(s *system.System) (string, error) {
	const link = "bin/kubectl"
	if s.Kubectl == "" {
		return "kubectl", nil
	}
	target, err := filepath.Abs(s.Kubectl)
	if err != nil {
		return "", err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return link, os.Symlink(target, link)
}

func tellWhatToTry(s *system.System, shop *sample, kubectl, dir string) {
	fmt.Printf(`
Server       %[1]s (the page; sign in with the admin token), GraphQL at %[1]s/graphql
Admin token  %[2]s

Try, in another terminal in this folder:

  %[6]s --kubeconfig %[3]s get sd,pods -A
  curl -s %[1]s/graphql -H "Authorization: Bearer $(cat %[2]s)" -H 'Content-Type: application/json' \
    -d '{"query": "{ podStatuses { namespace name status ready containers { reason message } } deployments { name status statusMessage } }"}'

  export STYRMIN_SERVER_ADDRESS=%[1]s STYRMIN_TOKEN="$(cat %[2]s)"
  bin/styrminctl deployments get shop
  bin/styrminctl deployments scale shop server=5 --wait
  # Break its image, see why the wait fails, and mend it:
  sed 's#server: {image: .*#server: {image: "registry.example/does-not-exist:1"}#' %[4]s | bin/styrminctl deployments apply -f - --wait
  bin/styrminctl deployments apply -f %[4]s --wait
  bin/styrminctl deployments delete shop --yes --wait

Logs are in %[5]s. Ctrl-C ends everything; the next make demo goes on from there, make demo-clean forgets it.
`, s.ServerURL, relative(s.AdminTokenFile), relative(s.Kubeconfig), shop.file, filepath.Join(dir, "logs"), kubectl)
}

// relative shortens a path below the working folder.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
