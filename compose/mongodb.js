'use strict';
// Run by mongosh; a second time it finds all done.
const first = { _id: 0, host: 'mongodb-primary:27017' };
const second = { _id: 1, host: 'mongodb-replica:27017', priority: 0, votes: 0 };
const settings = { heartbeatIntervalMillis: 200 };

function wait(condition, what) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (condition()) return;
    sleep(100);
  }
  throw new Error(`not within 30 s: ${what}`);
}

try {
  rs.status();
} catch (error) {
  if (error.codeName !== 'NotYetInitialized') throw error;
  rs.initiate({ _id: 'rs0', version: 1, members: [first], settings });
}
wait(() => db.hello().isWritablePrimary, 'a primary');
const config = rs.conf();
if (config.members.length === 1) {
  config.members.push(second);
  config.version += 1;
  db.adminCommand({ replSetReconfig: config });
}
wait(() => rs.status().members.some((member) => member.stateStr === 'SECONDARY'), 'a replica that follows');
print('the replica follows');
