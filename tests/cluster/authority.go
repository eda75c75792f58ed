package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newAuthority makes one with a key of its own. Both are written, so that tests can sign certificates with it too.
func newAuthority(name, certificateFile, keyFile string) (*authority, error) {
	key, err := newKey(keyFile)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	self := &authority{certificate: template, key: key}
	self.certificate, err = self.sign(template, key, certificateFile)
	return self, err
}

// serve writes a certificate for servers at these addresses and names, with its key.
func (a *authority) serve(addresses []net.IP, names []string, certificateFile, keyFile string) error {
	key, err := newKey(keyFile)
	if err != nil {
		return err
	}
	template := certificateTemplate(pkix.Name{CommonName: names[0]})
	template.IPAddresses, template.DNSNames = addresses, names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	_, err = a.sign(template, key, certificateFile)
	return err
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey, file string) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(file, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	// The time in nanoseconds makes numbers that differ, also when an authority is replaced by one of the same name.
	return &x509.Certificate{
		Subject:      subject,
		SerialNumber: big.NewInt(now.UnixNano()),
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.Add(10 * 365 * 24 * time.Hour),
	}
}

func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(file, "PRIVATE KEY", der)
}

// writePEM replaces a file as a whole: whoever reads it meanwhile sees the old or the new one.
func writePEM(file, kind string, der []byte) error {
	return replaceFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func replaceFile(file string, content []byte) error {
	fresh := file + ".new"
	if err := os.WriteFile(fresh, content, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}
