#!/usr/bin/env bash
# Prints, for a shell to take, where the nodes that compose.yaml starts are: addresses.sh PRODUCT [single|replicated]
set -euo pipefail
: "${BENCHBOOK_PASSWORD:?the password that the containers were started with}"
product=${1:?a product, such as mongodb}
topology=${2:-single}
user=benchbook

address() { # which node: 0 the single one, 1 the primary, 2 the replica
    local at=127.0.0.1
    case $product in
    mongodb) echo "mongodb://$user:$BENCHBOOK_PASSWORD@$at:$((37017 + 10000 * $1))/?directConnection=true&authSource=admin" ;;
    postgresql) echo "postgresql://$user:$BENCHBOOK_PASSWORD@$at:$((15432 + 10000 * $1))/postgres" ;;
    mysql) echo "mysql://root:$BENCHBOOK_PASSWORD@$at:$((13306 + 10000 * $1))" ;;
    mariadb) echo "mariadb://root:$BENCHBOOK_PASSWORD@$at:$((14306 + 10000 * $1))" ;;
    couchdb)
        local peers=(couchdb couchdb-primary couchdb-replica)
        echo "http://$user:$BENCHBOOK_PASSWORD@$at:$((15984 + 10000 * $1))/?peer=${peers[$1]}:5984"
        ;;
    rethinkdb) echo "rethinkdb://admin:$BENCHBOOK_PASSWORD@$at:$((38015 + 10000 * $1))" ;;
    couchbase)
        local data=$((21210 + 10000 * $1)) management=$((18091 + 10000 * $1))
        echo "couchbase://$user:$BENCHBOOK_PASSWORD@$at:$data/benchbook?management=$management"
        ;;
    sqlserver) echo "sqlserver://sa:$BENCHBOOK_PASSWORD@$at:$((11433 + 10000 * $1))/benchbook" ;;
    arangodb) echo "arangodb://root:$BENCHBOOK_PASSWORD@$at:$((18529 + 10000 * $1))/_system" ;;
    *)
        echo "addresses.sh: no such product: $product" >&2
        exit 2
        ;;
    esac
}

name=BENCHBOOK_${product^^}
case $topology in
single)
    single=$(address 0)
    echo "export ${name}_SINGLE_URL='$single'"
    ;;
replicated)
    primary=$(address 1)
    replica=$(address 2)
    echo "export ${name}_URL='$primary' ${name}_REPLICA_URL='$replica'"
    ;;
*)
    echo "addresses.sh: single or replicated, not $topology" >&2
    exit 2
    ;;
esac
