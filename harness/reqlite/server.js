'use strict';
// Serves reqlite at the port that is given, on 127.0.0.1: by itself it would listen on every interface.
const { Server } = require('node:net');

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ready) {
  return listen.call(this, port, '127.0.0.1', ready);
};

require('reqlite/lib/constants.js').ENABLE_JS = false; // anyone may connect: `r.js` would run their code as the user
const { ReqlRuntimeError } = require('reqlite/lib/error.js');
require('reqlite/lib/query.js').prototype.http = () => Promise.reject(new ReqlRuntimeError('this stand-in fetches nothing', []));

const Reqlite = require('reqlite');
const server = new Reqlite({ 'driver-port': Number(process.argv[2]), silent: true });
server._server.on('listening', () => console.log('ready'));
server._server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? 'Address already in use' : error);
  process.exit(1);
});
