#!/usr/bin/env bash
# Makes one replica set of the two: the primary alone first, then a replica that never votes.
set -euo pipefail
exec mongosh --quiet --norc --host mongodb-primary --username benchbook --password "$BENCHBOOK_PASSWORD" \
    --authenticationDatabase admin /benchbook/mongodb.js
