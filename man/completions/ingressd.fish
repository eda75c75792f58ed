# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ingressd_global_optspecs
    string join \n h/help V/version
end

function __fish_ingressd_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ingressd_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ingressd_using_subcommand
    set -l cmd (__fish_ingressd_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ingressd -n "__fish_ingressd_needs_command" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_needs_command" -s V -l version -d 'Print version'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "run" -d 'Serve a cluster, or a folder of manifests, with this host\'s nginx'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "check" -d 'Check manifests without a daemon: every finding with file, line and field'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "admission" -d 'Print policies by which an API server refuses what would be refused here'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "render" -d 'Print the nginx configuration for manifests, without a daemon'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "explain" -d 'Say why a request is answered as it is: what takes it, and where each option was written that counts there'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "status" -d 'Show what the running daemon serves, and what is wrong'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "top" -d 'Show the requests that come to this node, by host, Ingress or Service'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "logs" -d 'Show requests of the access log, or lines of nginx\'s error log, by host, Ingress, Service, status and duration'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "reload" -d 'Make the running daemon read its settings again'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "drain" -d 'Withdraw this node\'s addresses from all statuses, and wait until no client is connected'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "setup" -d 'Make this host\'s nginx ready for ingressd, or undo that'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "doctor" -d 'Look for problems of this host and its cluster, and say how to solve them'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "undrain" -d 'Publish this node\'s addresses again after `drain`'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "diff" -d 'Show what differs between two kept generations, and which object caused it'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "rollback" -d 'Go back to a kept generation and stay there'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "resume" -d 'Apply changes again that wait: after `rollback`, or because they take many hosts away'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "kubeconfig" -d 'Give a node its rights in a cluster, and write its kubeconfig. An administrator runs this'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "kubectl" -d 'Explain, check and compare with your own rights in the cluster, as a plugin of kubectl'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "migrate" -d 'Move from ingress-nginx to ingressd: report what will be equal, print settings, compare the answers of both, and take over the addresses'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "demo" -d 'Serve example manifests with a private nginx until Ctrl-C'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "templates" -d 'Print the program\'s templates of nginx\'s configuration, to begin your own from'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c ingressd -n "__fish_ingressd_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l kubeconfig -d 'File with the address of the cluster to serve, and with the credentials for it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l manifests -d 'Folder of manifests to serve and watch instead of a cluster' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l http-address -d 'Address for /healthz, /readyz, /metrics and /status.json' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l log-level -d 'Lowest level that is logged: error, warn, info, debug or trace' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l class -d 'Name of an IngressClass that is not among the manifests. Ingresses of this class are judged, too. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l nginx-version -d 'Judge manifests for this version of nginx instead of the installed one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l format -d 'The form of the answer' -r -f -a "text\t'A line each, and a summary'
json\t'An array of objects'
sarif\t'SARIF 2.1.0, which code hosts show beside the code'
junit\t'JUnit XML: a test for each object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l action -d 'What happens against a policy: values, trust, unknown, unserved, paths or hosts, and deny, warn, audit or off; may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l kubernetes -d 'The version of the API server' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l name -d 'What the names of the policies begin with' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l resolve -d 'Ask DNS for the addresses of names, as the daemon does: names of ExternalName Services, of authentication services and of mirrors. Without this option DNS is not asked, and each name is taken to have addresses'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l strict -d 'Fail on warnings too'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l demo -d 'Judge as `ingressd demo` serves: backends may be on loopback addresses'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l origins -d 'Show also where each value in force was written: of the settings, of the ConfigMap of an ingress-nginx and of each Ingress'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -l admission -d 'Show also what an API server with the policies of `ingressd admission` would refuse. The flags --action, --kubernetes and --name are those of that command'
complete -c ingressd -n "__fish_ingressd_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l class -d 'Name of an IngressClass of ingressd whose objects are judged; may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l action -d 'What happens against a policy: values, trust, unknown, unserved, paths or hosts, and deny, warn, audit or off; may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l kubernetes -d 'The version of the API server' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l name -d 'What the names of the policies begin with' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand admission" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l class -d 'Name of an IngressClass that is not among the manifests. Ingresses of this class are judged, too. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l nginx-version -d 'Judge manifests for this version of nginx instead of the installed one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l output -d 'Write files to this folder, which must be empty or written by an earlier `render`, instead of standard output' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -l resolve -d 'Ask DNS for the addresses of names, as the daemon does: names of ExternalName Services, of authentication services and of mirrors. Without this option DNS is not asked, and each name is taken to have addresses'
complete -c ingressd -n "__fish_ingressd_using_subcommand render" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l class -d 'Name of an IngressClass that is not among the manifests. Ingresses of this class are judged, too. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l nginx-version -d 'Judge manifests for this version of nginx instead of the installed one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l send -d 'Send the request to nginx of this host as well, and say where its answer differs'
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l resolve -d 'Ask DNS for the addresses of names, as the daemon does: names of ExternalName Services, of authentication services and of mirrors. Without this option DNS is not asked, and each name is taken to have addresses'
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l all -d 'Show options too that are as they are built in'
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l host -d 'Show which objects serve which paths of this host. `*` stands for hosts that no object names' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -s n -l namespace -d 'Show only what is of this namespace. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l state -d 'Show only Ingresses in this state; `wrong` stands for each but ok. This option may be repeated' -r -f -a "ok\t''
partly\t''
closed\t''
last-good\t''
refused\t''
waiting\t''
down\t''
wrong\t''"
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l text -d 'Show only Ingresses with this text in namespace, name, host or address, and findings with it. Capital and small letters are the same' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l cluster -d 'Show all nodes of the group, by their Leases, instead of this one'
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l watch -d 'Look again every two seconds until Ctrl-C, also while no daemon answers. Output that does not go to a terminal has only what changed'
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l by -d 'What a row is about' -r -f -a "host\t'The host of a rule; `*` is every other one'
ingress\t''
service\t''"
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l sort -d 'What rows are sorted by' -r -f -a "rate\t'Requests a second'
errors\t'Requests a second that were answered with 5xx'
p50\t'The time that half of the requests took at most'
p99\t'The time that 99 of 100 requests took at most'
bytes\t'Bytes to clients and from them'
name\t'Their names'"
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l filter -d 'Show only rows whose name has this text' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l interval -d 'Seconds between two looks' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l once -d 'Measure once, for the time of --interval, and end'
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l host -d 'Show only requests for this host; `*.example.com` stands for all below it. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l ingress -d 'Show only requests that this Ingress takes' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l service -d 'Show only requests that this Service got' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l status -d 'Show only answers with these statuses, such as `5xx`, `404` or `400-499`. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l slow -d 'Show only requests that took this long or longer, such as `1s`' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l since -d 'Show only what was logged within this time, such as `10m`; rotated files are read where they reach so far' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l file -d 'Read this file instead; `-` is standard input' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -s f -l follow -d 'Go on with lines that are written from now on, until Ctrl-C; also after a rotation'
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l errors -d 'Show lines of nginx\'s error log, of these hosts or of the hosts of this Ingress'
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand logs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand reload" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand reload" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand reload" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand reload" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l timeout -d 'How long to wait for the withdrawal, such as 90s or 5m' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l connections-timeout -d 'How long to wait afterwards for the end of connections; with 0s the command does not wait' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -l no-wait -d 'Only tell the daemon, and wait for nothing'
complete -c ingressd -n "__fish_ingressd_using_subcommand drain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l step -d 'Undo this step only' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l yes -d 'Carry out the steps. Without this option they are only shown'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l disable-default-site -d 'Also disable the distribution\'s default site where it answers requests for unknown hosts'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l undo -d 'Put back every byte as it was before, all or nothing, and take what is served out of force'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l keep-edited -d 'Leave files as they are that somebody changed since setup, and no longer remember what was there before'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -l undo-script -d 'Print a shell script that puts nginx\'s files back when ingressd is no longer installed. Packages keep it when they are removed'
complete -c ingressd -n "__fish_ingressd_using_subcommand setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l all -d 'Show also what is right'
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand undrain" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand undrain" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand undrain" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand undrain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l summary -d 'Name only the files and the objects'
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l list -d 'List the generations that are kept, and which objects changed before each'
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand rollback" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand rollback" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand rollback" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand resume" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand resume" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand resume" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l admin-kubeconfig -d 'Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l context -d 'Context of the administrator\'s kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l output -d 'File to write. The default is the one that the settings name, or /etc/ingressd/kubeconfig' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l account -d 'Name of the ServiceAccount. The default is publish.lease: each group of nodes has an account of its own, and so have each instance and a node side by side with ingress-nginx' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l duration -d 'Let the token end after this time, such as 720h, instead of keeping one in a Secret' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l server -d 'URL by which the node reaches the API server. The default is the administrator\'s' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l print -d 'Only show the manifests that would be applied'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l without-namespace -d 'Do not create the Namespace of publish.namespace, because it exists already'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l force -d 'Replace the file if it exists'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -l remove-rights -d 'Take away what the roles grant beyond the needs of these settings. Other nodes with this account may need it, so it stays otherwise, and is only shown'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubeconfig" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "explain" -d 'Say why a request is answered as it is'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "check" -d 'Find the mistakes in manifests, as they would be in this cluster'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "diff" -d 'Show what manifests would change of what is served'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "status" -d 'Show the nodes, and what is wrong with the Ingresses of a namespace'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "__complete" -d 'Complete words for kubectl'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and not __fish_seen_subcommand_from explain check diff status __complete help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -s f -l filename -d 'Explain it as if these files and folders of manifests were applied' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'Your kubeconfig. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l context -d 'Context of the kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -s n -l namespace -d 'Namespace of manifests that name none, and what is read where you may not read all namespaces. The default is that of the context' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l group -d 'Namespace and name of the leader\'s Lease: publish.namespace and publish.lease of the nodes. It is needed where these are not built in' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l config -d 'Settings file to judge by, instead of the settings that the nodes tell' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l set -d 'Set one key of ingressd.toml(5) over those settings. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l nginx-version -d 'Judge for this version of nginx instead of the one that the nodes tell' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l class -d 'Name of an IngressClass that is the nodes\', where you may not read IngressClasses. This option may be repeated. Without it all classes count as theirs' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l all -d 'Show options too that are as they are built in'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -s f -l filename -d 'The same, as kubectl takes them' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l kubeconfig -d 'Your kubeconfig. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l context -d 'Context of the kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -s n -l namespace -d 'Namespace of manifests that name none, and what is read where you may not read all namespaces. The default is that of the context' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l group -d 'Namespace and name of the leader\'s Lease: publish.namespace and publish.lease of the nodes. It is needed where these are not built in' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l config -d 'Settings file to judge by, instead of the settings that the nodes tell' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l set -d 'Set one key of ingressd.toml(5) over those settings. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l nginx-version -d 'Judge for this version of nginx instead of the one that the nodes tell' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l class -d 'Name of an IngressClass that is the nodes\', where you may not read IngressClasses. This option may be repeated. Without it all classes count as theirs' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -s f -l filename -d 'The same, as kubectl takes them' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l kubeconfig -d 'Your kubeconfig. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l context -d 'Context of the kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -s n -l namespace -d 'Namespace of manifests that name none, and what is read where you may not read all namespaces. The default is that of the context' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l group -d 'Namespace and name of the leader\'s Lease: publish.namespace and publish.lease of the nodes. It is needed where these are not built in' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l config -d 'Settings file to judge by, instead of the settings that the nodes tell' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l set -d 'Set one key of ingressd.toml(5) over those settings. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l nginx-version -d 'Judge for this version of nginx instead of the one that the nodes tell' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l class -d 'Name of an IngressClass that is the nodes\', where you may not read IngressClasses. This option may be repeated. Without it all classes count as theirs' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l kubeconfig -d 'Your kubeconfig. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l context -d 'Context of the kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -s n -l namespace -d 'Namespace of manifests that name none, and what is read where you may not read all namespaces. The default is that of the context' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l group -d 'Namespace and name of the leader\'s Lease: publish.namespace and publish.lease of the nodes. It is needed where these are not built in' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l config -d 'Settings file to judge by, instead of the settings that the nodes tell' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l set -d 'Set one key of ingressd.toml(5) over those settings. This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l nginx-version -d 'Judge for this version of nginx instead of the one that the nodes tell' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l class -d 'Name of an IngressClass that is the nodes\', where you may not read IngressClasses. This option may be repeated. Without it all classes count as theirs' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from __complete" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Say why a request is answered as it is'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "check" -d 'Find the mistakes in manifests, as they would be in this cluster'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Show what manifests would change of what is served'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the nodes, and what is wrong with the Ingresses of a namespace'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "__complete" -d 'Complete words for kubectl'
complete -c ingressd -n "__fish_ingressd_using_subcommand kubectl; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -f -a "report" -d 'Report for each Ingress, flag and key what is equal, stricter, different or refused, and what to do'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -f -a "settings" -d 'Print settings that do what the controller\'s flags do, and that read its ConfigMap'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -f -a "compare" -d 'Send the same requests to the controller and to ingressd, and show what differs and which annotation explains it'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -f -a "take-over" -d 'Replace the addresses in statuses by those of the nodes, or put back those from before'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and not __fish_seen_subcommand_from report settings compare take-over help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l admin-kubeconfig -d 'Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l context -d 'Context of the administrator\'s kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l controller -d 'Deployment or DaemonSet of the controller. It is needed where there are several' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l format -d 'The form of the answer' -r -f -a "text\t'What needs a change, and a summary'
json\t'One JSON object'
html\t'One page that needs no other files'"
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l nginx-version -d 'Judge for this version of nginx instead of the installed one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -l all -d 'Show also what is equal and needs no change'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -l admin-kubeconfig -d 'Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -l context -d 'Context of the administrator\'s kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -l controller -d 'Deployment or DaemonSet of the controller. It is needed where there are several' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -l ports -d 'The ports for http and https meanwhile. The controller must not have them' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -l side-by-side -d 'Print settings for the time in which both programs serve the same objects: with other ports, and without writing statuses'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from settings" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l admin-kubeconfig -d 'Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l context -d 'Context of the administrator\'s kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l controller -d 'Deployment or DaemonSet of the controller. It is needed where there are several' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l controller-address -d 'Address or name where the controller is reached' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l controller-ports -d 'Ports of the controller for http and https' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l ingressd-address -d 'Address or name where ingressd is reached: its nginx, on this node or another' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l ingressd-ports -d 'Ports of ingressd for http and https' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l log -d 'Access log of the controller whose requests are sent. This option may be repeated, and `-` is standard input. Without it, requests are made from the Ingresses' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l rate -d 'How many requests each side is sent in a second' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l most -d 'How many different requests are sent at most' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l timeout -d 'How many seconds an answer may take' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l most-body -d 'How many bytes of a body are compared' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l format -d 'The form of the answer' -r -f -a "text\t'For people'
json\t'For programs: one JSON object'"
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l report -d 'File to write the result to as JSON, for `ingressd migrate take-over`' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l nginx-version -d 'Judge for this version of nginx instead of the installed one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l all-statuses -d 'Send requests again, too, that the controller had refused with 401, 403, 429 or 444'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -l json -d 'The same as `--format json`'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l compare -d 'The result of `ingressd migrate compare`, as JSON' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l compare-age -d 'How old that result may be, such as 24h' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l record -d 'File that keeps what the statuses had before' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l timeout -d 'How long to wait for the nodes, such as 90s or 5m' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l admin-kubeconfig -d 'Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names, or ~/.kube/config' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l context -d 'Context of the administrator\'s kubeconfig. The default is its current one' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l controller -d 'Deployment or DaemonSet of the controller. It is needed where there are several' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l instance -d 'Name of an instance, where several ingressd share this host. Its settings are in /etc/ingressd/NAME/, and its folders end with the name' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l config -d 'Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files conf.d/*.toml beside it' -r -F
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l set -d 'Set one key of ingressd.toml(5). This option may be repeated' -r
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l undo -d 'Put back what the statuses had before'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l force -d 'Go on although answers differ or were not compared, or although a node is not ready for the take-over. With --undo: go on although the controller has no pod that is ready, or although it is not known what the statuses had before: then they stay, and only the nodes stop writing'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -l dry-run -d 'Only show what would be done'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from take-over" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "report" -d 'Report for each Ingress, flag and key what is equal, stricter, different or refused, and what to do'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "settings" -d 'Print settings that do what the controller\'s flags do, and that read its ConfigMap'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Send the same requests to the controller and to ingressd, and show what differs and which annotation explains it'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "take-over" -d 'Replace the addresses in statuses by those of the nodes, or put back those from before'
complete -c ingressd -n "__fish_ingressd_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand demo" -l check -d 'Run without a user: request every URL of a copy of the manifests, change, break and correct one of them, and report the result'
complete -c ingressd -n "__fish_ingressd_using_subcommand demo" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand templates" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "run" -d 'Serve a cluster, or a folder of manifests, with this host\'s nginx'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "check" -d 'Check manifests without a daemon: every finding with file, line and field'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "admission" -d 'Print policies by which an API server refuses what would be refused here'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "render" -d 'Print the nginx configuration for manifests, without a daemon'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "explain" -d 'Say why a request is answered as it is: what takes it, and where each option was written that counts there'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "status" -d 'Show what the running daemon serves, and what is wrong'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "top" -d 'Show the requests that come to this node, by host, Ingress or Service'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "logs" -d 'Show requests of the access log, or lines of nginx\'s error log, by host, Ingress, Service, status and duration'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "reload" -d 'Make the running daemon read its settings again'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "drain" -d 'Withdraw this node\'s addresses from all statuses, and wait until no client is connected'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "setup" -d 'Make this host\'s nginx ready for ingressd, or undo that'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "doctor" -d 'Look for problems of this host and its cluster, and say how to solve them'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "undrain" -d 'Publish this node\'s addresses again after `drain`'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "diff" -d 'Show what differs between two kept generations, and which object caused it'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "rollback" -d 'Go back to a kept generation and stay there'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "resume" -d 'Apply changes again that wait: after `rollback`, or because they take many hosts away'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "kubeconfig" -d 'Give a node its rights in a cluster, and write its kubeconfig. An administrator runs this'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "kubectl" -d 'Explain, check and compare with your own rights in the cluster, as a plugin of kubectl'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "migrate" -d 'Move from ingress-nginx to ingressd: report what will be equal, print settings, compare the answers of both, and take over the addresses'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "demo" -d 'Serve example manifests with a private nginx until Ctrl-C'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "templates" -d 'Print the program\'s templates of nginx\'s configuration, to begin your own from'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and not __fish_seen_subcommand_from run check admission render explain status top logs reload drain setup doctor undrain diff rollback resume kubeconfig kubectl migrate demo templates completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from kubectl" -f -a "explain" -d 'Say why a request is answered as it is'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from kubectl" -f -a "check" -d 'Find the mistakes in manifests, as they would be in this cluster'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from kubectl" -f -a "diff" -d 'Show what manifests would change of what is served'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from kubectl" -f -a "status" -d 'Show the nodes, and what is wrong with the Ingresses of a namespace'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from kubectl" -f -a "__complete" -d 'Complete words for kubectl'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "report" -d 'Report for each Ingress, flag and key what is equal, stricter, different or refused, and what to do'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "settings" -d 'Print settings that do what the controller\'s flags do, and that read its ConfigMap'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "compare" -d 'Send the same requests to the controller and to ingressd, and show what differs and which annotation explains it'
complete -c ingressd -n "__fish_ingressd_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "take-over" -d 'Replace the addresses in statuses by those of the nodes, or put back those from before'
