//go:build controllers_assets

package main

// With KUBEBUILDER_ASSETS, the controllers are a program of that folder if it has one.

func controllers(arguments []string) error {
	return replaceWith("kube-controller-manager", arguments...)
}
