// Command cluster is a Kubernetes control plane for tests, in one binary: an API server, its store, and the controllers
// that make EndpointSlices. It runs in any network namespace, needs no root, and leaves nothing behind.
//
//	cluster up DIR PORT IP      run a control plane until its standard input closes or it is told to end
//	cluster tell DIR COMMAND    tell a running one something; `cluster tell DIR help` lists the commands
//	cluster kubectl ...         kubectl
//
// `up` runs each part as a child process of itself, because two commands of Kubernetes cannot share a process: both
// install the process-wide signal handler. The other first arguments, which are the parts' names, are for these children.
package main

import (
	"fmt"
	"os"
	"runtime"
)

// commands are the first arguments and what they run; the arguments after them are theirs.
var commands = map[string]func(arguments []string) error{
	"up":            up,
	"tell":          tell,
	"kubectl":       kubectl,
	etcdPart:        etcd,
	apiserverPart:   apiserver,
	controllersPart: controllers,
}

func init() {
	// Children are to die with their parent, and the kernel takes the parent to be the thread that started them: the
	// main goroutine starts them all, on the one thread that lives as long as the process.
	runtime.LockOSThread()
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: cluster up DIR PORT IP | tell DIR COMMAND | kubectl ...")
		os.Exit(64)
	}
	// Each of Kubernetes' commands reads os.Args itself and expects its own name first.
	os.Args = os.Args[1:]
	if err := commands[os.Args[0]](os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}
