#!/bin/sh
# Puts nginx's configuration back as it was before `ingressd setup`, where ingressd is no longer there. `ingressd setup --undo-script`
# wrote it. What somebody changed since stays, and so does what nginx would not do without.
set -u

test_nginx() { TEST_NGINX >/dev/null 2>&1; }

# Whether this state stands at this path.
stands() {
    case $2 in
    absent) [ ! -e "$1" ] && [ ! -L "$1" ] ;;
    link:*) [ -L "$1" ] && [ "$(readlink "$1")" = "${2#link:}" ] ;;
    file:*) [ -f "$1" ] && [ ! -L "$1" ] && printf %s "${2##*:}" | base64 -d | cmp -s - "$1" ;;
    esac
}

# Puts this state there: a file with mode, user, group and content.
put() {
    case $2 in
    absent) rm -f "$1" ;;
    link:*) rm -f "$1" && ln -s "${2#link:}" "$1" ;;
    file:*)
        owned=${2#file:}
        mode=${owned%%:*}
        owned=${owned#*:}
        printf %s "${2##*:}" | base64 -d >"$1.undo" && chown "${owned%:*}" "$1.undo" && chmod "$mode" "$1.undo" && mv -f "$1.undo" "$1"
        ;;
    esac
}

# Path, what stood there before, what stands there since.
take_back() {
    if stands "$1" "$2"; then
        return
    fi
    if ! stands "$1" "$3"; then
        echo "$1: somebody changed it after \`ingressd setup\` did, so it stays as it is" >&2
        return
    fi
    put "$1" "$2"
    if test_nginx; then
        accepted=yes
    elif [ "$accepted" = yes ]; then
        put "$1" "$3"
        echo "$1: nginx refuses its configuration without what \`ingressd setup\` changed, so it stays as it is" >&2
    fi
}

accepted=no
test_nginx && accepted=yes
