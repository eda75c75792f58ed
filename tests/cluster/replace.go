//go:build assets || controllers_assets

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// replaceWith makes this process a program of KUBEBUILDER_ASSETS.
func replaceWith(program string, arguments ...string) error {
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" {
		return errors.New("this binary was built for KUBEBUILDER_ASSETS, which is not set")
	}
	return syscall.Exec(filepath.Join(folder, program), append([]string{program}, arguments...), os.Environ())
}
