package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The parts of a control plane, by the names under which they run, log, and are told to stop and start.
const (
	etcdPart        = "etcd"
	apiserverPart   = "kube-apiserver"
	controllersPart = "kube-controller-manager"
)

// part is one of them: a child process of this one, which may be stopped and started again.
type part struct {
	name      string
	arguments []string
	// log is the file to which it writes.
	log string
	// ready tells why it does not do its work yet.
	ready func() error

	process *os.Process
	// ended is closed when the process has ended.
	ended chan struct{}
}

// startLimit is the longest time that a part may take until it does its work: a limit for broken code, since a machine
// may be busy.
const startLimit = 3 * time.Minute

// start starts the part and waits until it is ready.
func (p *part) start() error {
	if p.process != nil {
		return fmt.Errorf("%s runs already", p.name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, append([]string{p.name}, p.arguments...)...)
	command.Stdout, command.Stderr = log, log
	// Also when this process is killed; and Ctrl-C in a terminal is for this process alone, which then ends them.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	p.process, p.ended = command.Process, make(chan struct{})
	go func(ended chan struct{}) {
		_ = command.Wait()
		close(ended)
	}(p.ended)
	return p.wait()
}

func (p *part) wait() error {
	for end := time.Now().Add(startLimit); ; {
		missing := p.ready()
		if missing == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", p.name, startLimit, missing, p.lastLines())
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended:\n%s", p.name, p.lastLines())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop kills the part, and returns when it is gone and its ports are free.
func (p *part) stop() error {
	if p.process == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	_ = p.process.Kill()
	<-p.ended
	p.process, p.ended = nil, nil
	return nil
}

// signal sends the part a signal.
func (p *part) signal(signal syscall.Signal) error {
	if p.process == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	return p.process.Signal(signal)
}

// pause stops the part without an end, and returns when it stands still: the signal reaches one thread, and the others run
// on until that one is scheduled.
func (p *part) pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, p.process.Pid, nil, unix.WSTOPPED, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// hasDied tells whether the part ended by itself.
func (p *part) hasDied() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// lastLines are the last few of its log.
func (p *part) lastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return filepath.Base(p.log) + ": " + strings.Join(lines[max(0, len(lines)-15):], "\n")
}
