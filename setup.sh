#!/bin/sh
# Sets up ./.venv for `make`: Python >= 3.11 found, uv found or installed there, the packages of one lock installed with
# their hashes checked and their bytecode compiled. Outside this folder it touches the caches of uv and npm in the home
# folder. As root it also installs the Debian packages that are missing, and starts no service; otherwise it names them.
#   ./setup.sh [ENVIRONMENT [lessons|run|dev|tests]]
set -eu
unset PYTHONSAFEPATH # it would hide tools/
# What a user or a file of hers asks of pip and uv elsewhere: here pip installs uv into a folder, and our code has no hash.
export PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0
unset PIP_REQUIRE_HASHES UV_REQUIRE_HASHES PIP_PREFIX PIP_ROOT PIP_DRY_RUN
# What chooses packages, because a lock with hashes has chosen.
unset PIP_CONSTRAINT PIP_REQUIREMENT PIP_PLATFORM PIP_UPLOADED_PRIOR_TO UV_CONSTRAINT UV_EXCLUDE UV_EXCLUDE_NEWER
cd "$(dirname "$0")"
folder=$(pwd -P)
cd "$folder"
# A folder of packages that a teacher filled for a class: nothing is downloaded then.
if [ -d wheels ]; then
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels UV_OFFLINE=1 UV_FIND_LINKS=wheels
fi
env=${1:-.venv}
purpose=${2:-run}
case $purpose in
    lessons) lock=locks/requirements-lessons.lock ;; # what the lessons without a server need
    run) lock=locks/requirements.lock ;;             # what `make run` and `make lab` need
    *) lock=locks/requirements-dev.lock ;;           # types, docs, releases, other machines; for tests Debian's packages, too
esac

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 3; }
modern() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

advise() { # Debian's-packages Homebrew's: how to install them on this system
    if [ "$(uname)" = Darwin ]; then
        echo "brew install $2"
    elif command -v apt-get >/dev/null; then
        echo "sudo apt-get install $1"
    else
        echo "install what Debian calls $1"
    fi
}

linked() { case $(/sbin/ldconfig -p) in *"$1"*) ;; *) return 1 ;; esac; } # whether programs find a library

debian_install() { # what-for package...
    what=$1; shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing Debian packages for $what: $*"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get install -qq -y --no-install-recommends "$@" ||
          { apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@"; }; } >/dev/null 2>&1 && return
    fi
    say "$what needs packages that are missing: $(advise "$*" "$*")"
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
    # Ubuntu 22.04 has 3.10. Any Python can install uv, which fetches a newer one where the user lets it.
    fetched=
    if [ -z "$python" ]; then
        found=$(python3 --version 2>/dev/null) && python=python3 || found="there is none"
        fetched=3.12
        if [ "${BENCHBOOK_PYTHON_DOWNLOADS:-}" != 1 ] || ! command -v ${python:-uv} >/dev/null; then
            may="let uv fetch one into your home folder: BENCHBOOK_PYTHON_DOWNLOADS=1 make"
            [ -n "$python" ] && [ "$(uname)" != Darwin ] || may="$(advise "python3 python3-venv" python@3.12), or $may"
            fail "Python 3.11 or newer is missing ($found): $may"
        fi
    fi

    if command -v uv >/dev/null; then
        uv=$(command -v uv)
    elif .venv/bin/uv --version >/dev/null 2>&1; then
        uv=.venv/bin/uv
    else
        uv=.venv/uv/bin/uv # until the lock has brought the same to .venv/bin
        pinned=$(mktemp); trap 'rm -f "$pinned"' EXIT
        awk '/^[^ #]/ {keep = /^uv==/} keep' $lock >"$pinned"
        "$python" -c 'import ensurepip' 2>/dev/null || "$python" -m pip --version >/dev/null 2>&1 ||
            debian_install "Python's installer" python3-venv || exit 3
        if ! "$python" -m pip --version >/dev/null 2>&1; then
            "$python" -m venv .venv/bootstrap
            python=.venv/bootstrap/bin/python
        fi
        "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --upgrade \
            --require-hashes --no-deps --only-binary :all: --target .venv/uv --requirement "$pinned" || true
        "$uv" --version >/dev/null 2>&1 ||
            fail "uv could not be installed; see the messages above. If a setting in your pip.conf is the cause, leave" \
                "that file out: PIP_CONFIG_FILE=/dev/null make setup"
    fi
    if ! { [ -x .venv/bin/python ] && modern .venv/bin/python; }; then
        if [ -n "$fetched" ]; then
            say "fetching Python $fetched"
            UV_PYTHON_DOWNLOADS=automatic "$uv" venv --quiet --allow-existing --managed-python --python "$fetched" .venv
        else
            "$uv" venv --quiet --allow-existing --no-python-downloads --python "$python" .venv
        fi
    fi
    say "installing the Python packages of $lock"
    "$uv" pip sync --quiet --require-hashes --no-build --python .venv/bin/python $lock || {
        [ ! -d wheels ] ||
            fail "the folder wheels misses packages of $lock for this system or Python: fill it again, or rename it to download"
        fail "the packages could not be installed. If uv names a certificate, a proxy stands in between:" \
            "export UV_SYSTEM_CERTS=1 (older uv: UV_NATIVE_TLS=1) or SSL_CERT_FILE=CERTIFICATES.pem, and run this again." \
            "If uv finds no solution, a setting in your uv.toml may be the cause: leave that file out with UV_NO_CONFIG=1"
    }
    "$uv" pip install --quiet --no-deps --no-require-hashes --no-build-isolation --python .venv/bin/python --editable .
    # Without the packages' own tests, which no run needs: 64 MB. Some files are templates, which do not compile.
    .venv/bin/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib lib >/dev/null 2>&1 || true
    rm -rf .venv/uv .venv/bootstrap
else
    "$env/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
    echo "$folder" >"$env/.benchbook-folder"
fi
# Any JupyterLab of this environment saves the notebooks of this checkout as `make lab` does: without outputs, as in git.
saving=$env/etc/jupyter/jupyter_server_config.json
mkdir -p "$env/etc/jupyter"
[ -e "$saving" ] ||
    echo '{"FileContentsManager": {"pre_save_hook": "benchbook.cli.lab.remove_outputs_of_checkout"}}' >"$saving"
# Kernels of this environment's JupyterLab and nbconvert are encrypted: other accounts of the machine could listen.
kernels=$env/etc/jupyter/jupyter_config.json
[ -e "$kernels" ] || echo '{"KernelManager": {"transport_encryption": "auto"}}' >"$kernels"
"$env/bin/python" -I -S tools/path_file.py "$env"/lib/python3*/site-packages/_benchbook.pth

# The MongoDB wheel links against the system's libcurl and OpenSSL 3.
for mongod in "$env"/lib/python3*/site-packages/fiftyone/db/bin/mongod; do
    if [ -e "$mongod" ] && command -v ldd >/dev/null && ldd "$mongod" 2>/dev/null | grep -q 'libcurl.*not found'; then
        debian_install "MongoDB" libcurl4 || true
    fi
done
# The lessons without a server need neither of the papers' other languages.
[ "$purpose" != lessons ] || exit 0

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
    say "Node.js is left out, because node or npm is missing: $(advise "nodejs npm" node)"
else
    npm_ci harness/node "Node.js is left out"
fi
if command -v node >/dev/null && ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
    say "Node.js is left out, because $(node --version) is too old for MongoDB's driver: install 20.19 or newer"
fi
# The papers' Java language. Maven fetches once what artefacts.lock names; it builds offline, of that, once its hashes are checked.
java=harness/java
# macOS has a javac that only says where to get one; the default JDK of Ubuntu 22.04 is 11.
has_jdk() { { command -v mvn && javac --release 17 -version; } >/dev/null 2>&1; }
jdk=default-jdk-headless
if grep -qs '^VERSION_ID="22.04"' /etc/os-release; then jdk=openjdk-17-jdk-headless; fi
if [ "$purpose" = tests ] && ! has_jdk; then
    debian_install "the tests of Java" $jdk maven || true
fi
if ! has_jdk; then
    # shellcheck disable=SC2016 # the user's shell expands it
    keg='openjdk maven, then export PATH="$(brew --prefix openjdk)/bin:$PATH"'
    say "Java is left out, and MySQL 8.0 on Linux x86-64, because a JDK of 17 or newer, or Maven, is missing: $(advise "$jdk maven" "$keg")"
elif [ ! -e $java/target/benchbook.jar ] ||
    [ -n "$(find $java/pom.xml $java/artefacts.lock $java/src -newer $java/target/benchbook.jar)" ]; then
    say "building $java"
    why=$("$env/bin/python" -m tools.artefacts 2>&1) || say "Java is left out, because $java was not built: $why"
fi
# MySQL 8.0, which Maven has for Linux on x86-64: it is checked, and its data folder made, before anything runs it.
if has_jdk && [ "$(uname -sm)" = "Linux x86_64" ] && [ ! -e .cache/servers/mysql ]; then
    if { linked libaio.so.1 && linked libnuma.so.1; } || debian_install "MySQL 8.0" libaio1 libnuma1; then
        say "fetching MySQL 8.0"
        why=$("$env/bin/python" -m tools.fetched_servers 2>&1) || say "MySQL 8.0 is left out: $why"
    fi
fi
if [ "$purpose" = tests ] && ! PATH=$PATH:/usr/sbin command -v mariadbd >/dev/null && [ "$(uname)" = Linux ]; then
    debian_install "the tests of MariaDB" mariadb-server-core mariadb-client-core || true
fi
if [ "$purpose" = tests ] && ! command -v chromium >/dev/null && [ "$(uname)" = Linux ]; then
    debian_install "the tests in a browser" chromium || true
fi
if [ "$purpose" = tests ] && ! { command -v podman && command -v runc && PATH=$PATH:/usr/sbin command -v iptables && [ -e /usr/lib/podman/netavark ]; } >/dev/null && [ "$(id -u)" = 0 ] && [ "$(uname)" = Linux ]; then
    debian_install "the tests of containers" podman runc netavark aardvark-dns iptables || true
fi

# The adapters of products that no registry holds are tested on servers that speak their protocol.
if [ "$purpose" = tests ]; then
    if command -v npm >/dev/null; then
        npm_ci tests/stand_ins/couchdb "CouchDB's adapter is not tested"
        npm_ci tests/stand_ins/rethinkdb "RethinkDB's adapter is not tested"
    fi
fi
