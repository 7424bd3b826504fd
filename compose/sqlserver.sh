#!/usr/bin/env bash
# Makes the database benchbook; for a pair, an availability group without a cluster manager around it.
set -euo pipefail
export SQLCMDPASSWORD=$BENCHBOOK_PASSWORD
say() { /opt/mssql-tools18/bin/sqlcmd -C -b -y 0 -S "$1" -U sa -Q "SET NOCOUNT ON; $2"; } # server, T-SQL
has() { [ "$(say "$1" "SELECT COUNT(*) FROM $2" | tr -cd '[:digit:]')" != 0 ]; }

endpoint() { # server, how its certificate is made
    has "$1" "sys.endpoints WHERE name = N'benchbook'" && return
    say "$1" "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'$BENCHBOOK_PASSWORD';
        CREATE CERTIFICATE benchbook $2;
        CREATE ENDPOINT benchbook STATE = STARTED AS TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING
        (ROLE = ALL, AUTHENTICATION = CERTIFICATE benchbook, ENCRYPTION = REQUIRED ALGORITHM AES)"
}

member() { # host name
    echo "N'$1' WITH (ENDPOINT_URL = N'tcp://$1:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT,
        FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))"
}

if [ "$1" = single ]; then
    say mssql-single "IF DB_ID(N'benchbook') IS NULL CREATE DATABASE benchbook"
    exit
fi
binary() { say mssql-primary "SELECT CONVERT(varchar(max), $1, 1)" | grep -o '0x[0-9A-F]*'; }

endpoint mssql-primary "WITH SUBJECT = N'benchbook'"
certificate=$(binary "CERTENCODED(CERT_ID(N'benchbook'))")
key=$(binary "CERTPRIVATEKEY(CERT_ID(N'benchbook'), N'$BENCHBOOK_PASSWORD')")
endpoint mssql-replica "FROM BINARY = $certificate
    WITH PRIVATE KEY (BINARY = $key, DECRYPTION BY PASSWORD = N'$BENCHBOOK_PASSWORD')"

if ! has mssql-primary "sys.availability_groups WHERE name = N'benchbook'"; then
    say mssql-primary "CREATE DATABASE benchbook"
    say mssql-primary "ALTER DATABASE benchbook SET RECOVERY FULL; BACKUP DATABASE benchbook TO DISK = N'benchbook.bak'"
    say mssql-primary "CREATE AVAILABILITY GROUP benchbook WITH (CLUSTER_TYPE = NONE) FOR DATABASE benchbook
        REPLICA ON $(member mssql-primary), $(member mssql-replica)"
fi
if ! has mssql-replica "sys.availability_groups WHERE name = N'benchbook'"; then
    say mssql-replica "ALTER AVAILABILITY GROUP benchbook JOIN WITH (CLUSTER_TYPE = NONE);
        ALTER AVAILABILITY GROUP benchbook GRANT CREATE ANY DATABASE"
fi
joined="sys.dm_hadr_database_replica_states WHERE is_local = 1 AND synchronization_state_desc = N'SYNCHRONIZING'"
for _ in $(seq 60); do
    if has mssql-replica "$joined"; then
        echo 'the replica follows'
        exit 0
    fi
    sleep 1
done
echo 'the replica did not follow within 60 s' >&2
exit 1
