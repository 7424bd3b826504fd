#!/bin/sh
# Sets up ./.venv for `make`: Python >= 3.11 found, uv found or installed there, everything in requirements.lock
# installed with its hashes checked and its bytecode compiled. Nothing outside this folder is touched, but for uv's and
# npm's caches of what they fetched (1.6 GB, in the home folder), and for what Debian's packages provide: installed when
# that is missing and we are root (no service is started), else named.
set -eu
unset PYTHONSAFEPATH # it would hide tools/
# What a user or a file of hers asks of pip and uv elsewhere: here pip installs uv into a folder, and our code has no hash.
export PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0
unset UV_REQUIRE_HASHES
cd "$(dirname "$0")"
folder=$(pwd -P)
cd "$folder"
env=${1:-.venv}

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 3; }
modern() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

linked() { case $(/sbin/ldconfig -p) in *"$1"*) ;; *) return 1 ;; esac; } # whether programs find a library

debian_install() { # what-for package...
    what=$1; shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing Debian packages for $what: $*"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get install -qq -y --no-install-recommends "$@" ||
          { apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@"; }; } >/dev/null 2>&1 && return
    fi
    say "$what needs Debian packages that are missing: sudo apt-get install $*"
    return 1
}

# uv and npm keep what they fetched in the home folder, for other checkouts, too; without one, here.
if ! { mkdir -p "${HOME:-/nonexistent}/.cache" && [ -w "$HOME" ] && [ -w "$HOME/.cache" ]; } 2>/dev/null; then
    say "the home folder ${HOME:-} cannot be written: downloads are kept in .cache here"
    export UV_CACHE_DIR="${UV_CACHE_DIR:-$folder/.cache/uv}" npm_config_cache="${npm_config_cache:-$folder/.cache/npm}"
fi

if [ "$env" = .venv ]; then
    # Its programs and the editable install name the folder that it was made in: a copied or moved one would run that folder's code.
    if [ -e .venv ] && [ "$(cat .venv/.benchbook-folder 2>/dev/null)" != "$folder" ]; then
        say "making .venv again, because it was made for another folder"
        rm -rf .venv
    fi
    mkdir -p .venv
    echo "$folder" >.venv/.benchbook-folder
    python=
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if modern "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || fail "Python 3.11 or newer is missing: sudo apt-get install python3"

    if command -v uv >/dev/null; then
        uv=$(command -v uv)
    else
        uv=.venv/uv/bin/uv
        pinned=$(mktemp); trap 'rm -f "$pinned"' EXIT
        awk '/^[^ #]/ {keep = /^uv==/} keep' requirements.lock >"$pinned"
        "$python" -c 'import ensurepip' 2>/dev/null || "$python" -m pip --version >/dev/null 2>&1 ||
            debian_install "Python's installer" python3-venv || exit 3
        if ! "$python" -m pip --version >/dev/null 2>&1; then
            "$python" -m venv .venv/bootstrap
            python=.venv/bootstrap/bin/python
        fi
        "$uv" --version >/dev/null 2>&1 || "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --upgrade \
            --require-hashes --no-deps --target .venv/uv --requirement "$pinned"
        "$uv" --version >/dev/null 2>&1 || fail "uv could not be installed; see the messages above"
    fi
    { [ -x .venv/bin/python ] && modern .venv/bin/python; } ||
        "$uv" venv --quiet --allow-existing --no-python-downloads --python "$python" .venv
    say "installing the Python packages of requirements.lock"
    "$uv" pip sync --quiet --require-hashes --no-build --compile-bytecode --python .venv/bin/python requirements.lock
    "$uv" pip install --quiet --no-deps --no-require-hashes --no-build-isolation --python .venv/bin/python --editable .
else
    "$env/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
    echo "$folder" >"$env/.benchbook-folder"
fi

# The MongoDB wheel links against the system's libcurl and OpenSSL 3.
for mongod in "$env"/lib/python3*/site-packages/fiftyone/db/bin/mongod; do
    if [ -e "$mongod" ] && command -v ldd >/dev/null && ldd "$mongod" 2>/dev/null | grep -q 'libcurl.*not found'; then
        debian_install "MongoDB" libcurl4 || true
    fi
done
# npm fetches once what a lock file pins, checks it, and runs none of its install scripts; afterwards nothing is asked of the network.
npm_ci() { # folder what-is-left-out-without-it
    cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock" && return
    say "installing the Node.js packages of $1/package-lock.json"
    if (cd "$1" && npm ci --silent --ignore-scripts --prefer-offline); then
        cp "$1/package-lock.json" "$1/node_modules/.installed-lock"
    else
        say "npm ci failed in $1, so $2. To see why: (cd $1 && npm ci --ignore-scripts)"
    fi
}
# The papers' Node language.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    say "Node.js is left out, because node or npm is missing: sudo apt-get install nodejs npm"
else
    npm_ci harness/node "Node.js is left out"
fi
if command -v node >/dev/null && ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
    say "Node.js is left out, because $(node --version) is too old for MongoDB's driver: install 20.19 or newer"
fi
# The papers' Java language. Maven fetches once what artefacts.lock names; it builds offline, of that, once its hashes are checked.
java=harness/java
if [ "${BENCHBOOK_TESTS:-}" = 1 ] && ! { command -v mvn && command -v javac; } >/dev/null; then
    debian_install "the tests of Java" default-jdk-headless maven || true
fi
if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
    say "Java and MySQL 8.0 are left out, because a JDK or Maven is missing: sudo apt-get install default-jdk-headless maven"
elif [ ! -e $java/target/benchbook.jar ] ||
    [ -n "$(find $java/pom.xml $java/artefacts.lock $java/src -newer $java/target/benchbook.jar)" ]; then
    say "building $java"
    why=$("$env/bin/python" -m tools.artefacts 2>&1) || say "Java is left out, because $java was not built: $why"
fi
# MySQL 8.0, which Maven has for Linux on x86-64: it is checked, and its data folder made, before anything runs it.
if command -v mvn >/dev/null && command -v javac >/dev/null && [ "$(uname -sm)" = "Linux x86_64" ] && [ ! -e .cache/servers/mysql ]; then
    if { linked libaio.so.1 && linked libnuma.so.1; } || debian_install "MySQL 8.0" libaio1 libnuma1; then
        say "fetching MySQL 8.0"
        why=$("$env/bin/python" -m tools.fetched_servers 2>&1) || say "MySQL 8.0 is left out: $why"
    fi
fi
if [ "${BENCHBOOK_TESTS:-}" = 1 ] && ! PATH=$PATH:/usr/sbin command -v mariadbd >/dev/null && [ "$(uname)" = Linux ]; then
    debian_install "the tests of MariaDB" mariadb-server-core mariadb-client-core || true
fi
if [ "${BENCHBOOK_TESTS:-}" = 1 ] && ! command -v chromium >/dev/null && [ "$(uname)" = Linux ]; then
    debian_install "the tests in a browser" chromium || true
fi
if [ "${BENCHBOOK_TESTS:-}" = 1 ] && ! { command -v podman && command -v runc && PATH=$PATH:/usr/sbin command -v iptables && [ -e /usr/lib/podman/netavark ]; } >/dev/null && [ "$(id -u)" = 0 ] && [ "$(uname)" = Linux ]; then
    debian_install "the tests of containers" podman runc netavark aardvark-dns iptables || true
fi

# The adapters of products that no registry holds are tested on servers that speak their protocol.
if [ "${BENCHBOOK_TESTS:-}" = 1 ]; then
    if command -v npm >/dev/null; then
        npm_ci tests/stand_ins/couchdb "CouchDB's adapter is not tested"
        npm_ci tests/stand_ins/rethinkdb "RethinkDB's adapter is not tested"
    fi
    if command -v mvn >/dev/null && command -v javac >/dev/null && [ ! -e tests/stand_ins/couchbase/CouchbaseMock-1.5.27.jar ]; then
        why=$("$env/bin/python" -m tools.artefacts tests/stand_ins/couchbase 2>&1) || say "Couchbase's adapter is not tested: $why"
    fi
fi
