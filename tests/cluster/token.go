package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// issuer is the name under which the API server issues and accepts tokens of ServiceAccounts.
const issuer = "https://kubernetes.default.svc.cluster.local"

// leeway is how long after its end the API server still accepts a token, for the sake of clocks that differ.
const leeway = time.Minute

// serviceAccountToken makes a token such as the API server issues, but with any lifetime: the server itself issues none
// for less than ten minutes. A server that has just accepted one remembers that for ten seconds more.
func serviceAccountToken(key *ecdsa.PrivateKey, namespace, name, uid string, lifetime time.Duration) (string, error) {
	end := time.Now().Add(lifetime - leeway)
	begin := end.Add(-time.Hour)
	if now := time.Now(); begin.After(now) {
		begin = now
	}
	signed := ""
	for _, part := range []any{
		map[string]string{"alg": "ES256", "typ": "JWT"},
		map[string]any{
			"iss": issuer,
			"aud": []string{issuer},
			"sub": "system:serviceaccount:" + namespace + ":" + name,
			"iat": begin.Unix(),
			"nbf": begin.Unix(),
			"exp": end.Unix(),
			"kubernetes.io": map[string]any{
				"namespace":      namespace,
				"serviceaccount": map[string]string{"name": name, "uid": uid},
			},
		},
	} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		if signed != "" {
			signed += "."
		}
		signed += base64.RawURLEncoding.EncodeToString(text)
	}
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return "", err
	}
	// Both numbers in 32 bytes each (RFC 7518, section 3.4).
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
