// PouchDB's server on 127.0.0.1, its LevelDB in FOLDER, for the one user in SECRET ("name:password"). It welcomes as CouchDB 3.0 does.
//   node server.js PORT FOLDER SECRET      (port 0: any); prints {"port": ...} when it listens
// Of `_replicator` it has what starts, lists and stops continuous pulls; its user is an administrator, with nothing to set.
'use strict'
const { createHash, timingSafeEqual } = require('node:crypto')
const { readFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const express = require('express')
const pouchdb = require('pouchdb')
const server = require('express-pouchdb')

const [port, folder, secret] = process.argv.slice(2)
const Local = pouchdb.defaults({ prefix: join(folder, '/') })
const digest = text => createHash('sha256').update(text).digest()
const known = digest(`Basic ${readFileSync(secret).toString('base64')}`)

const pulls = new Map() // by the document's id: the document, and what it started
process.on('unhandledRejection', error => console.error(error.message)) // of a feed whose database was dropped: it must not end the server

const app = express()
app.use((request, response, next) => timingSafeEqual(digest(request.get('Authorization') ?? ''), known)
  ? next()
  : response.status(401).json({ error: 'unauthorized', reason: 'Name or password is incorrect.' }))
app.get('/', (_, response) => response.json(
  { couchdb: 'Welcome', version: '3.0.0', vendor: { name: `PouchDB ${pouchdb.version}` } }))
app.get('/_session', (_, response) => response.json({ ok: true, userCtx: { name: 'benchbook', roles: ['_admin'] } }))
app.use(['/_node', '/_scheduler'], (_, response) => response.status(404).json({ error: 'not_found', reason: 'missing' }))
app.route('/_replicator')
  .get((_, response) => response.json({ db_name: '_replicator' }))
  .put((_, response) => response.status(412).json({ error: 'file_exists' }))
app.get('/_replicator/_all_docs', (_, response) =>
  response.json({ rows: [...pulls.values()].map(({ doc }) => ({ id: doc._id, doc })) }))
app.route('/_replicator/:id')
  .get(({ params: { id } }, response) => pulls.has(id)
    ? response.json(pulls.get(id).doc)
    : response.status(404).json({ error: 'not_found', reason: 'missing' }))
  .put(express.json(), ({ params: { id }, body }, response) => {
    const options = { live: true, retry: true, back_off_function: () => 500, batch_size: 50 } // requests wait for a batch
    const pull = new Local(basename(body.target)).replicate.from(body.source, options).on('error', console.error)
    pulls.set(id, { doc: { ...body, _id: id, _rev: '1-0' }, pull })
    response.status(201).json({ ok: true })
  })
  .delete(({ params: { id } }, response) => {
    const { pull } = pulls.get(id) ?? {}
    if (!pulls.delete(id)) return response.status(404).json({ error: 'not_found', reason: 'missing' })
    const ended = () => response.json({ ok: true }) // at once, where its database was dropped or refused it before
    pull.cancel()
    pull.then(ended, ended)
  })
app.use(server(Local, {
  mode: 'minimumForPouchDB', overrideMode: { include: ['routes/find'], exclude: ['compression'] }
}))

const listener = app.listen(Number(port), '127.0.0.1', () => console.log(JSON.stringify(listener.address())))
listener.keepAliveTimeout = 0 // a client may rest between two requests
listener.on('error', error => {
  console.error(error.code === 'EADDRINUSE' ? 'Address already in use' : error)
  process.exit(1)
})
