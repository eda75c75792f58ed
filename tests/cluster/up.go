package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// controlPlane is what `up` runs.
type controlPlane struct {
	files   *files
	address string
	port    int
	// parts are in the order in which they start.
	parts []*part
}

// up runs a control plane in a folder of its own, new or empty, on a port of an address, and removes the folder when it ends. The two
// ports above that one are the store's, on the loopback address.
func up(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("wants DIR PORT IP, got %q", arguments)
	}
	port, err := strconv.Atoi(arguments[1])
	if err != nil || net.ParseIP(arguments[2]) == nil {
		return fmt.Errorf("%q %q: no port and address", arguments[1], arguments[2])
	}
	folder, err := filepath.Abs(arguments[0])
	if err != nil {
		return err
	}
	if err := claim(folder); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	end := whenToEnd()
	files, err := writeFiles(folder, arguments[2], port)
	if err != nil {
		return err
	}
	plane := &controlPlane{files: files, address: arguments[2], port: port}
	plane.parts = plane.describeParts()
	defer plane.stop()
	for _, part := range plane.parts {
		if err := part.start(); err != nil {
			return err
		}
	}
	told, err := listen(folder)
	if err != nil {
		return err
	}
	fmt.Printf("ready %s\n", files.path("kubeconfig"))
	return plane.obey(told, end)
}

// claim makes a folder ours. It is removed at the end: only a new or an empty one can be taken.
func claim(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", folder)
	}
	return err
}

// obey does what it is told until the end. It runs on the main goroutine, since that one starts processes.
func (c *controlPlane) obey(told <-chan request, end <-chan struct{}) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-end:
			return nil
		case request := <-told:
			request.answer <- c.do(request.words)
		case <-look.C:
		}
		for _, part := range c.parts {
			if part.hasDied() {
				return fmt.Errorf("%s ended by itself:\n%s", part.name, part.lastLines())
			}
		}
	}
}

func (c *controlPlane) stop() {
	for i := len(c.parts) - 1; i >= 0; i-- {
		// One that does not run needs no stop.
		_ = c.parts[i].stop()
	}
}

// part finds a part by its name.
func (c *controlPlane) part(name string) (*part, error) {
	for _, part := range c.parts {
		if part.name == name {
			return part, nil
		}
	}
	return nil, fmt.Errorf("no part is called %q", name)
}

// whenToEnd is closed at the signals that end programs, and when standard input is a pipe whose other end closes: what
// started this program is gone then.
func whenToEnd() <-chan struct{} {
	end := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	closed := make(chan struct{})
	if status, err := os.Stdin.Stat(); err == nil && status.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(closed)
		}()
	}
	go func() {
		select {
		case <-signals:
		case <-closed:
		}
		close(end)
	}()
	return end
}

// answers tells whether something answers at a URL with 200, believing the authority in a file if one is named.
func answers(url, authorityFile string) bool {
	settings := &tls.Config{}
	if authorityFile != "" {
		pem, err := os.ReadFile(authorityFile)
		if err != nil {
			return false
		}
		settings.RootCAs = x509.NewCertPool()
		settings.RootCAs.AppendCertsFromPEM(pem)
	}
	transport := &http.Transport{TLSClientConfig: settings, DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: 2 * time.Second}
	reply, err := client.Get(url)
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}
