//go:build !assets

package main

import (
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcd runs the store until the process is killed: a folder, the URL for clients, and the URL for peers, of which there
// are none.
func etcd(arguments []string) error {
	folder := arguments[0]
	clients, err := url.Parse(arguments[1])
	if err != nil {
		return err
	}
	peers, err := url.Parse(arguments[2])
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	// What it holds lives no longer than the process.
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = 4 << 30
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clients}, []url.URL{*clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peers}, []url.URL{*peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-server.Err()
}
