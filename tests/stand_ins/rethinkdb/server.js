'use strict';
// Serves reqlite at the port that is given, to who knows admin's password, which is in the file that is given.
//   node server.js PORT SECRET
const { createHash, createHmac, pbkdf2Sync, timingSafeEqual } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { Server } = require('node:net');
const Connection = require('reqlite/lib/connection.js');
const { splitCommaEqual } = require('reqlite/lib/utils.js');

const [port, secret] = process.argv.slice(2);
const password = readFileSync(secret, 'utf8');

const { listen } = Server.prototype; // by itself it would listen on every interface
Server.prototype.listen = function (port, ready) {
  return listen.call(this, port, '127.0.0.1', ready);
};

// reqlite has no password, and takes any proof of one that a client sends at the end of its handshake (SCRAM, RFC 5802)
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
const proves = (link, message) => {
  try {
    const { r, p } = splitCommaEqual(JSON.parse(message).authentication);
    const salted = pbkdf2Sync(password, Buffer.from(link.salt, 'base64'), link.iterations, 32, 'sha256');
    const key = hmac(salted, 'Client Key');
    const said = `n=admin,r=${link.clientNonce},${link.getAuthentication()},c=biws,r=${link.getFullNonce()}`;
    const signature = hmac(createHash('sha256').update(key).digest(), said);
    return r === link.getFullNonce() && timingSafeEqual(Buffer.from(p, 'base64'), key.map((byte, at) => byte ^ signature[at]));
  } catch {
    return false;
  }
};
const { read } = Connection.prototype;
Object.defineProperty(Connection.prototype, 'password', { get: () => password, set() {} });
Connection.prototype.read = function () {
  const end = this.buffer.indexOf(0);
  if (this.state === 2 && end >= 0) this.proven ||= proves(this, this.buffer.toString('utf8', 0, end));
  if (this.proven || this.state < 2 || (this.state === 2 && end < 0)) return read.call(this);
  this.connection.end(JSON.stringify({ success: false, error: 'Wrong password', error_code: 12 }) + '\0'); // as RethinkDB's
  this.buffer = Buffer.alloc(0);
  return undefined;
};

require('reqlite/lib/constants.js').ENABLE_JS = false; // `r.js` would run code as the user
const { ReqlRuntimeError } = require('reqlite/lib/error.js');
require('reqlite/lib/query.js').prototype.http = () => Promise.reject(new ReqlRuntimeError('nothing is fetched', []));
const WAIT = 177; // reqlite does not know it; its tables are ready at once
const { evaluate } = require('reqlite/lib/query.js').prototype;
require('reqlite/lib/query.js').prototype.evaluate = function (term, ...more) {
  return Array.isArray(term) && term[0] === WAIT ? Promise.resolve({ ready: 1 }) : evaluate.call(this, term, ...more);
};

const Reqlite = require('reqlite');
const server = new Reqlite({ 'driver-port': Number(port), silent: true });
// RethinkDB lists its servers, reqlite does not; the version is the one whose language it speaks.
const process_ = { version: 'rethinkdb 2.4.0 (reqlite)', cache_size_mb: null };
server.databases.rethinkdb.table('server_status').insert(
  { id: server.id, name: server.name, process: process_, network: { canonical_addresses: [] } }, { meta: true }
);
server._server.on('listening', () => console.log('ready'));
server._server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? 'Address already in use' : error);
  process.exit(1);
});
