//go:build !controllers_assets

package main

import (
	"os"

	"k8s.io/component-base/cli"
	controllerscommand "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// controllers runs the controllers; its arguments are those of kube-controller-manager.
func controllers([]string) error {
	os.Exit(cli.Run(controllerscommand.NewControllerManagerCommand()))
	return nil
}
