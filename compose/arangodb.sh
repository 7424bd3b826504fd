#!/bin/sh
# Lets the replica follow the primary's database _system, its own collections left out.
set -eu
exec arangosh --quiet true --server.endpoint tcp://arangodb-replica:8529 --server.username root \
    --server.password "$BENCHBOOK_PASSWORD" --javascript.execute /benchbook/arangodb.js
