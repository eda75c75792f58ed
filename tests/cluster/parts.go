package main

import "fmt"

// describeParts says how each part is started and when it is ready.
func (c *controlPlane) describeParts() []*part {
	store := fmt.Sprintf("http://127.0.0.1:%d", c.port+1)
	return []*part{{
		name:      etcdPart,
		arguments: []string{c.files.path("etcd"), store, fmt.Sprintf("http://127.0.0.1:%d", c.port+2)},
		log:       c.files.path("etcd.log"),
		ready:     func() error { return answers(store+"/health", "") },
	}, {
		name:      apiserverPart,
		arguments: c.apiserverFlags(store),
		log:       c.files.path("kube-apiserver.log"),
		ready: func() error {
			return answers(fmt.Sprintf("https://%s:%d/readyz", c.address, c.port), c.files.path("ca.crt"))
		},
	}, {
		name:      controllersPart,
		arguments: c.controllersFlags(),
		log:       c.files.path("kube-controller-manager.log"),
		// It tells nobody: the port on which it would is off. Whoever needs a slice waits for the slice.
		ready: func() error { return nil },
	}}
}

func (c *controlPlane) apiserverFlags(store string) []string {
	return []string{
		"--etcd-servers=" + store,
		"--bind-address=0.0.0.0",
		fmt.Sprintf("--secure-port=%d", c.port),
		"--advertise-address=" + c.address,
		// There is no kubelet and no proxy: nobody asks for the API server's own endpoints.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + c.files.path("apiserver.crt"),
		"--tls-private-key-file=" + c.files.path("apiserver.key"),
		"--client-ca-file=" + c.files.path("client-ca.crt"),
		"--token-auth-file=" + c.files.path("tokens.csv"),
		"--service-account-issuer=" + issuer,
		"--service-account-signing-key-file=" + c.files.path("service-account.key"),
		"--service-account-key-file=" + c.files.path("service-account.pub"),
		"--authorization-mode=RBAC",
		// No controller makes the default ServiceAccounts that Pods would have to have.
		"--disable-admission-plugins=ServiceAccount",
		// Tests measure what they test, not how the server is shared.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
	}
}

func (c *controlPlane) controllersFlags() []string {
	return []string{
		"--kubeconfig=" + c.files.path("kubeconfig"),
		"--controllers=endpointslice-controller,namespace-controller,garbage-collector-controller,serviceaccount-token-controller",
		"--service-account-private-key-file=" + c.files.path("service-account.key"),
		"--secure-port=0",
		"--leader-elect=false",
		// Slices are to follow Pods as fast as they can. A controller that is so fast that it has not seen its own last
		// write waits for a second or more; it is faster when it waits for a moment before each.
		"--kube-api-qps=2000",
		"--kube-api-burst=2000",
		"--endpointslice-updates-batch-period=50ms",
	}
}
