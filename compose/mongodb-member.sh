#!/usr/bin/env bash
# A member of the replica set: MongoDB's own start, with the key file that members know each other by.
set -euo pipefail
key=/data/configdb/members.key
printf 'benchbook %s' "$BENCHBOOK_PASSWORD" | sha512sum | cut -d ' ' -f 1 >"$key"
chown mongodb:mongodb "$key"
chmod 400 "$key"
exec docker-entrypoint.sh mongod --bind_ip_all --replSet rs0 --keyFile "$key" --oplogSize 990
