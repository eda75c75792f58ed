package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
)

// files are what a control plane keeps in its folder.
//
// For those who use it: kubeconfig (everything is allowed to it), ca.crt (who signs the API server's certificate), and
// client-ca.crt with client-ca.key (who signs certificates of clients: the common name is the user).
type files struct {
	folder string
	// serviceAccountKey signs tokens of ServiceAccounts.
	serviceAccountKey *ecdsa.PrivateKey
}

func (f *files) path(name string) string {
	return filepath.Join(f.folder, name)
}

// writeFiles writes all of them for an API server at this address.
func writeFiles(folder, address string, port int) (*files, error) {
	made := &files{folder: folder}
	if err := made.replaceAuthority(address); err != nil {
		return nil, err
	}
	if _, err := newAuthority("clients", made.path("client-ca.crt"), made.path("client-ca.key")); err != nil {
		return nil, err
	}
	if err := made.makeServiceAccountKey(); err != nil {
		return nil, err
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	token := hex.EncodeToString(random)
	tokens := fmt.Sprintf("%s,admin,admin,\"system:masters\"\n", token)
	if err := replaceFile(made.path("tokens.csv"), []byte(tokens)); err != nil {
		return nil, err
	}
	kubeconfig := fmt.Sprintf(kubeconfigText, address, port, made.path("ca.crt"), token)
	return made, replaceFile(made.path("kubeconfig"), []byte(kubeconfig))
}

// replaceAuthority makes a new authority, and a certificate of it for the API server.
func (f *files) replaceAuthority(address string) error {
	authority, err := newAuthority("cluster", f.path("ca.crt"), f.path("ca.key"))
	if err != nil {
		return err
	}
	addresses := []net.IP{net.ParseIP(address), net.IPv4(127, 0, 0, 1)}
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"}
	return authority.serve(addresses, names, f.path("apiserver.crt"), f.path("apiserver.key"))
}

// makeServiceAccountKey writes the key as two files: the API server reads a public key where it verifies.
func (f *files) makeServiceAccountKey() error {
	key, err := newKey(f.path("service-account.key"))
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	f.serviceAccountKey = key
	return writePEM(f.path("service-account.pub"), "PUBLIC KEY", der)
}

const kubeconfigText = `apiVersion: v1
kind: Config
current-context: cluster
contexts:
- {name: cluster, context: {cluster: cluster, user: admin, namespace: default}}
clusters:
- name: cluster
  cluster:
    server: https://%s:%d
    certificate-authority: %s
users:
- name: admin
  user:
    token: %s
`
