package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// request is one line that a running control plane was told, in words, and where the answer goes.
type request struct {
	words  []string
	answer chan answer
}

// answer is what comes back: a line of text, or what went wrong.
type answer struct {
	text string
	err  error
}

// orders are what a control plane can be told, by first word.
var orders = map[string]struct {
	usage string
	do    func(*controlPlane, []string) (string, error)
}{
	"stop":              {"stop PART: kill a part (" + etcdPart + ", " + apiserverPart + ", " + controllersPart + ")", stopPart},
	"start":             {"start PART: start it again, and wait until it is ready", startPart},
	"pause":             {"pause PART: let it stand still; its connections stay open and get no answer", pausePart},
	"continue":          {"continue PART: let it go on", continuePart},
	"restore":           {"restore: let every part go on or start again, whatever was told before", restore},
	"replace-authority": {"replace-authority: sign the API server's certificate by a new ca.crt, and start it again", replaceAuthority},
	"token":             {"token NAMESPACE NAME UID DURATION: print a token of a ServiceAccount that expires", token},
}

func (c *controlPlane) do(words []string) answer {
	if len(words) == 0 || orders[words[0]].do == nil {
		var usages []string
		for _, order := range orders {
			usages = append(usages, order.usage)
		}
		sort.Strings(usages)
		return answer{text: strings.Join(usages, "; ")}
	}
	text, err := orders[words[0]].do(c, words[1:])
	return answer{text, err}
}

func stopPart(c *controlPlane, words []string) (string, error) {
	return "", c.withPart(words, (*part).stop)
}

func startPart(c *controlPlane, words []string) (string, error) {
	return "", c.withPart(words, (*part).start)
}

func pausePart(c *controlPlane, words []string) (string, error) {
	return "", c.withPart(words, (*part).pause)
}

func continuePart(c *controlPlane, words []string) (string, error) {
	return "", c.withPart(words, func(p *part) error { return p.signal(syscall.SIGCONT) })
}

// restore leaves nothing of what stop and pause did: a test that failed between them and their ends is to fail alone.
func restore(c *controlPlane, _ []string) (string, error) {
	for _, part := range c.parts {
		if part.process == nil {
			if err := part.start(); err != nil {
				return "", err
			}
		} else if err := part.signal(syscall.SIGCONT); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (c *controlPlane) withPart(words []string, do func(*part) error) error {
	if len(words) != 1 {
		return errors.New("name one part")
	}
	part, err := c.part(words[0])
	if err != nil {
		return err
	}
	return do(part)
}

// replaceAuthority starts the controllers again too: they have read the old authority.
func replaceAuthority(c *controlPlane, _ []string) (string, error) {
	if err := c.files.replaceAuthority(c.address); err != nil {
		return "", err
	}
	for _, name := range []string{apiserverPart, controllersPart} {
		part, err := c.part(name)
		if err != nil {
			return "", err
		}
		if err := part.stop(); err != nil {
			return "", err
		}
		if err := part.start(); err != nil {
			return "", err
		}
	}
	return "", nil
}

func token(c *controlPlane, words []string) (string, error) {
	if len(words) != 4 {
		return "", errors.New("give namespace, name and UID of the ServiceAccount, and a duration")
	}
	lifetime, err := time.ParseDuration(words[3])
	if err != nil {
		return "", err
	}
	return serviceAccountToken(c.files.serviceAccountKey, words[0], words[1], words[2], lifetime)
}

// controlSocket is where a control plane listens: one line in, one line out, which begins with `ok` or `error`.
func controlSocket(folder string) string {
	return filepath.Join(folder, "control.sock")
}

// listen takes requests at the socket, one after the other.
func listen(folder string) (<-chan request, error) {
	listener, err := net.Listen("unix", controlSocket(folder))
	if err != nil {
		return nil, err
	}
	told := make(chan request)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serve(connection, told)
		}
	}()
	return told, nil
}

func serve(connection net.Conn, told chan<- request) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		answered := make(chan answer)
		told <- request{strings.Fields(lines.Text()), answered}
		reply := <-answered
		line := "ok " + reply.text
		if reply.err != nil {
			line = "error " + strings.ReplaceAll(reply.err.Error(), "\n", " | ")
		}
		if _, err := fmt.Fprintln(connection, line); err != nil {
			return
		}
	}
}

// tell tells the control plane in a folder something and prints what it answers.
func tell(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("wants DIR COMMAND")
	}
	connection, err := net.Dial("unix", controlSocket(arguments[0]))
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, strings.Join(arguments[1:], " ")); err != nil {
		return err
	}
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return err
	}
	kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	if kind != "ok" {
		return errors.New(text)
	}
	if text != "" {
		fmt.Println(text)
	}
	return nil
}
