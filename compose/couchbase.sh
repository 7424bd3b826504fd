#!/usr/bin/env bash
# Sets a cluster of one node up, or two of them with XDCR from the primary's bucket to the replica's.
set -euo pipefail
login=(--username benchbook --password "$BENCHBOOK_PASSWORD")

cluster() { # host, the host's ports on loopback: management, queries, data
    local at=(--cluster "$1:8091")
    if ! couchbase-cli server-list "${at[@]}" "${login[@]}" >/dev/null 2>&1; then
        couchbase-cli cluster-init "${at[@]}" --cluster-username benchbook --cluster-password "$BENCHBOOK_PASSWORD" \
            --services data,index,query --cluster-ramsize 512 --cluster-index-ramsize 256
    fi
    if ! couchbase-cli bucket-list "${at[@]}" "${login[@]}" | grep -qx benchbook; then
        couchbase-cli bucket-create "${at[@]}" "${login[@]}" --bucket benchbook --bucket-type couchbase \
            --bucket-ramsize 256 --bucket-replica 0 --storage-backend couchstore --wait
    fi
    # The node tells clients where it is: they, on the host, reach it by loopback.
    curl --fail --silent --show-error --user "benchbook:$BENCHBOOK_PASSWORD" --request PUT \
        "http://$1:8091/node/controller/setupAlternateAddresses/external" --data hostname=127.0.0.1 \
        --data mgmt="$2" --data n1ql="$3" --data kv="$4"
}

case $1 in
single) cluster couchbase 18091 18093 21210 ;;
replicated)
    cluster couchbase-primary 28091 28093 31210
    cluster couchbase-replica 38091 38093 41210
    from=(--cluster couchbase-primary:8091 "${login[@]}")
    if ! couchbase-cli xdcr-setup "${from[@]}" --list | grep -q 'cluster name: replica'; then
        couchbase-cli xdcr-setup "${from[@]}" --create --xdcr-cluster-name replica \
            --xdcr-hostname couchbase-replica:8091 --xdcr-username benchbook --xdcr-password "$BENCHBOOK_PASSWORD"
        couchbase-cli xdcr-replicate "${from[@]}" --create --xdcr-cluster-name replica \
            --xdcr-from-bucket benchbook --xdcr-to-bucket benchbook
    fi
    ;;
esac
