#!/usr/bin/env bash
# Waits until the replica streams.
set -euo pipefail
query="SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
for _ in $(seq 300); do
    streaming=$(psql --host postgresql-primary --username benchbook --dbname postgres --no-psqlrc --tuples-only \
        --no-align --command "$query")
    if [ "$streaming" = 1 ]; then
        echo 'the replica follows'
        exit 0
    fi
    sleep 0.1
done
echo 'the replica did not follow within 30 s' >&2
exit 1
