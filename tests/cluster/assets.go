//go:build assets

package main

// With KUBEBUILDER_ASSETS, the store, the API server and kubectl are programs of that folder.

func etcd(arguments []string) error {
	return replaceWith("etcd",
		"--data-dir="+arguments[0], "--unsafe-no-fsync", "--log-level=error", "--quota-backend-bytes=4294967296",
		"--listen-client-urls="+arguments[1], "--advertise-client-urls="+arguments[1],
		"--listen-peer-urls="+arguments[2], "--initial-advertise-peer-urls="+arguments[2],
		"--initial-cluster=default="+arguments[2])
}

func apiserver(arguments []string) error {
	return replaceWith("kube-apiserver", arguments...)
}

func kubectl(arguments []string) error {
	return replaceWith("kubectl", arguments...)
}
