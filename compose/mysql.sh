#!/usr/bin/env bash
# Lets the replica follow the primary, both from an empty log; it then refuses writes.
set -euo pipefail
export MYSQL_PWD=$BENCHBOOK_PASSWORD
say() { mysql --host "mysql-$1" --user root --batch --skip-column-names --execute "$2"; }

if [ -z "$(say replica 'SHOW REPLICA STATUS')" ]; then
    say primary "CREATE USER IF NOT EXISTS replica@'%' IDENTIFIED BY '$BENCHBOOK_PASSWORD';
        GRANT REPLICATION SLAVE ON *.* TO replica@'%'; RESET BINARY LOGS AND GTIDS"
    say replica "RESET BINARY LOGS AND GTIDS;
        CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'mysql-primary', SOURCE_USER = 'replica',
        SOURCE_PASSWORD = '$BENCHBOOK_PASSWORD', SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 0, GET_SOURCE_PUBLIC_KEY = 1"
fi
say replica 'START REPLICA; SET GLOBAL super_read_only = ON'
running="SELECT COUNT(*) FROM performance_schema.replication_connection_status WHERE SERVICE_STATE = 'ON'"
for _ in $(seq 300); do
    if [ "$(say replica "$running")" = 1 ]; then
        echo 'the replica follows'
        exit 0
    fi
    sleep 0.1
done
echo 'the replica did not follow within 30 s' >&2
exit 1
