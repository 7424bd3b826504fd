#!/usr/bin/env bash
# The replica: a copy of the primary when it first starts, which then streams through a slot.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    pg_basebackup --host postgresql-primary --username benchbook --pgdata "$PGDATA" --checkpoint fast \
        --wal-method stream --write-recovery-conf --create-slot --slot benchbook_replica --no-password
    chmod 700 "$PGDATA"
fi
exec postgres
