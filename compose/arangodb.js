'use strict';
// Run by arangosh on the replica; a second time it finds all done.
const internal = require('internal');
const replication = require('@arangodb/replication');

if (!replication.applier.state().state.running) {
  replication.setupReplication({
    endpoint: 'tcp://arangodb-primary:8529',
    username: 'root',
    password: internal.env.BENCHBOOK_PASSWORD,
    autoStart: true,
    autoResync: true,
    adaptivePolling: false,
    idleMinWaitTime: 0.001,
    includeSystem: false,
  });
}
internal.print('the replica follows');
