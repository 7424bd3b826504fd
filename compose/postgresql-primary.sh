#!/usr/bin/env bash
# Run once, when the primary's data folder is made: lets a replica follow.
set -euo pipefail
echo 'host replication all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
