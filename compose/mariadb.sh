#!/usr/bin/env bash
# Lets the replica follow the primary, both from an empty log; it then refuses writes.
set -euo pipefail
export MYSQL_PWD=$BENCHBOOK_PASSWORD
say() { mariadb --host "mariadb-$1" --user root --batch --skip-column-names --execute "$2"; }

if [ -z "$(say replica 'SHOW REPLICA STATUS')" ]; then
    say primary "CREATE USER IF NOT EXISTS replica@'%' IDENTIFIED BY '$BENCHBOOK_PASSWORD';
        GRANT REPLICATION SLAVE ON *.* TO replica@'%'; RESET MASTER"
    say replica "RESET MASTER; SET GLOBAL gtid_slave_pos = '';
        CHANGE MASTER TO MASTER_HOST = 'mariadb-primary', MASTER_USER = 'replica',
        MASTER_PASSWORD = '$BENCHBOOK_PASSWORD', MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0"
fi
say replica 'START REPLICA; SET GLOBAL read_only = ON'
running="SHOW GLOBAL STATUS LIKE 'Slave_running'"
for _ in $(seq 300); do
    if [[ "$(say replica "$running")" == *ON ]]; then
        echo 'the replica follows'
        exit 0
    fi
    sleep 0.1
done
echo 'the replica did not follow within 30 s' >&2
exit 1
