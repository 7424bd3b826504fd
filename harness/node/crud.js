// Study crud on MongoDB: insert, update, select and delete, alone, or until the replica holds what the primary holds.
'use strict'
const { connect } = require('./mongodb')
const { at, reaches } = require('./replica')
const { read, check, tried } = require('./records')
const idle = require('./idle')

const FOLLOW_S = 60 // a replica may take so long to follow an emptied store
const RESOLUTION_NS = 500_000 // of a wait's end: the position's round trip, and a read on the replica

const value = (role, metric, value, source, resolution, timed_out = false) => ({ role, metric, value, unit: 'ns', source, resolution, timed_out })
const ns = (from, to) => Number(to - from)

class ReplicaLost extends Error {}

async function fresh (clients, { collection, parents, group }, index, name) {
  const database = clients.primary.db(name)
  for (const name of [...parents.map(parent => parent.collection), collection]) {
    await database.dropCollection(name).catch(error => { if (error.codeName !== 'NamespaceNotFound') throw error })
    await database.createCollection(name)
  }
  for (const parent of parents) await database.collection(parent.collection).insertMany(parent.records)
  if (index) await database.collection(collection).createIndex({ [group]: 1 })
  if (clients.replica && !await reaches(clients.replica, await at(clients.primary), FOLLOW_S)) {
    throw new Error(`the replica has not followed the empty store in ${FOLLOW_S} s`)
  }
  for (const client of Object.values(clients)) await client.db('admin').command({ fsync: 1 })
  return database.collection(collection)
}

const reversed = text => `*${[...text ?? ''].reverse().join('')}`

// A value whose text at a path is reversed: of the whole field that it is in.
const changedAt = (value, [name, ...inner]) => name === undefined ? reversed(value) : { ...value, [name]: changedAt(value?.[name], inner) }

// Each record's changed field by its key, in the order in which the store gives the keys; one for all in bulk.
async function changed (store, records, [name, ...inner], change, calls) {
  if (calls === 'bulk') return new Map(records.map(({ _id }) => [_id, change]))
  const before = new Map(records.map(record => [record._id, record[name]]))
  const ids = await store.find({}, { projection: { _id: 1 } }).toArray()
  return new Map(ids.map(({ _id }) => [_id, { [name]: changedAt(before.get(_id), inner) }]))
}

async function insertEach (store, records) {
  for (const record of records) await store.insertOne(record)
}

async function updateEach (store, changes) {
  for (const [_id, $set] of changes) {
    const { matchedCount } = await store.updateOne({ _id }, { $set })
    if (matchedCount !== 1) throw new Error(`there is no record '${_id}'`)
  }
}

async function deleteEach (store, ids) {
  for (const _id of ids) {
    const { deletedCount } = await store.deleteOne({ _id })
    if (deletedCount !== 1) throw new Error(`there is no record '${_id}'`)
  }
}

class Batch {
  constructor (clients, store, { parameters, given, sections }) {
    Object.assign(this, { clients, store, parameters, given, sections })
  }

  async run () {
    const { store, given: { records, text, change: same }, parameters: { calls, delete: way } } = this
    const bulk = calls === 'bulk'
    await this.write('insert', () => bulk ? store.insertMany(records) : insertEach(store, records), records)
    const changes = await changed(store, records, text, same, calls)
    const after = records.map(record => ({ ...record, ...changes.get(record._id) }))
    const [change] = changes.values()
    await this.write('update', () => bulk ? store.updateMany({}, { $set: change }) : updateEach(store, changes), after)
    if (!this.clients.replica) await this.select(after)
    await this.write('delete', () => way === 'each' ? deleteEach(store, changes.keys()) : store.deleteMany({}), [])
  }

  async write (operation, action, wanted) {
    const { clients: { primary, replica }, parameters: { timeout_s: patience } } = this
    const startedAt = new Date().toISOString()
    const started = process.hrtime.bigint()
    await action()
    const written = process.hrtime.bigint()
    const values = [value('client', 'wall_time', ns(started, written), 'process.hrtime', 1)]
    if (replica) {
      const caughtUp = await reaches(replica, await at(primary), patience)
      const ended = process.hrtime.bigint()
      const until = 'process.hrtime, until the replica is at the primary\'s position'
      values.push(value('replica', 'catch_up_time', ns(written, ended), until, RESOLUTION_NS, !caughtUp))
      values.push(value('client', 'elapsed_time', ns(started, ended), until, RESOLUTION_NS, !caughtUp))
      this.add(operation, startedAt, this.given.records.length, values)
      if (!caughtUp && !await reaches(replica, await at(primary), patience)) { // as long again, untimed
        throw new ReplicaLost(`the replica has not caught up within 2 times ${patience} s`)
      }
    } else {
      this.add(operation, startedAt, this.given.records.length, values)
    }
    for (const [role, client] of Object.entries(this.clients)) {
      const found = await client.db(this.store.dbName).collection(this.store.collectionName).find().toArray()
      check(found, wanted, `${operation}, ${role}`)
    }
  }

  async select (wanted) {
    const { store, given: { records, group } } = this
    const groups = new Set(records.map(record => record[group]))
    const startedAt = new Date().toISOString()
    const started = process.hrtime.bigint()
    let found = []
    for (const one of groups) found = found.concat(await store.find({ [group]: one }).toArray())
    const duration = ns(started, process.hrtime.bigint())
    this.add('select', startedAt, found.length, [value('client', 'wall_time', duration, 'process.hrtime', 1)])
    check(found, wanted, 'select')
  }

  add (operation, startedAt, count, values) {
    this.sections.push({ operation, started_at: startedAt, count, values })
  }
}

module.exports = async function crud ({ parameters, data, url, database, replica_url: other, pids = [] }, repetition) {
  const given = read(data)
  const clients = { primary: await connect(url, parameters.durability) }
  try {
    if (other) clients.replica = await connect(other, parameters.durability)
    for (const client of Object.values(clients)) await client.db('admin').command({ ping: 1 })
    if (parameters.dataset_file) {
      await tried('mongodb', async () => {
        const { primary } = clients
        const store = await fresh({ primary }, given, parameters.article_index, database)
        await new Batch({ primary }, store, { parameters, given, sections: [] }).run()
      })
    }
    for (let i = 0; i < parameters.repetitions; i++) {
      const store = await fresh(clients, given, parameters.article_index, database)
      await idle(pids)
      const sections = []
      try {
        await new Batch(clients, store, { parameters, given, sections }).run()
      } catch (error) {
        if (!(error instanceof ReplicaLost)) throw error
        repetition(sections)
        return { driver: connect.version, lost: error.message }
      }
      repetition(sections)
    }
  } finally {
    for (const client of Object.values(clients)) await client.close()
  }
  return { driver: connect.version }
}
