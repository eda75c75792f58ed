//go:build !assets

package main

import (
	"os"

	"k8s.io/component-base/cli"
	kubectlcommand "k8s.io/kubectl/pkg/cmd"
	apiservercommand "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// apiserver runs the API server; its arguments are those of kube-apiserver.
func apiserver([]string) error {
	os.Exit(cli.Run(apiservercommand.NewAPIServerCommand()))
	return nil
}

// kubectl is kubectl.
func kubectl([]string) error {
	return cli.RunNoErrOutput(kubectlcommand.NewDefaultKubectlCommand())
}
