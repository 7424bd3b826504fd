// Study crud on MongoDB: insert, update, select and delete on one node, or until the replica has
// what the primary has.
'use strict'
const { connect } = require('./mongodb')
const { readPosition, waitForReplica } = require('./replica')
const { readRecords, checkRecords, tryRecords } = require('./records')
const waitUntilIdle = require('./idle')

// Seconds that a replica may take to follow an emptied collection.
const EMPTY_TIMEOUT_S = 60
// Of the end of a wait: the position's round trip, and a read on the replica.
const RESOLUTION_NS = 500_000

const makeValue = (role, metric, value, source, resolution, isTimedOut = false) =>
  ({ role, metric, value, unit: 'ns', source, resolution, timed_out: isTimedOut })
const subtractTimes = (end, start) => Number(end - start)

class ReplicaLost extends Error {}

// Makes the empty collections with their parents' records, and waits until the replica has them.
async function makeCollections (clients, data, hasIndex, databaseName) {
  const { collection, parents, group } = data
  const database = clients.primary.db(databaseName)
  for (const name of [...parents.map(parent => parent.collection), collection]) {
    await database.dropCollection(name).catch(error => {
      if (error.codeName !== 'NamespaceNotFound') throw error
    })
    await database.createCollection(name)
  }
  for (const parent of parents) {
    await database.collection(parent.collection).insertMany(parent.records)
  }
  if (hasIndex) await database.collection(collection).createIndex({ [group]: 1 })
  if (clients.replica) {
    const position = await readPosition(clients.primary)
    if (!await waitForReplica(clients.replica, position, EMPTY_TIMEOUT_S)) {
      throw new Error(`the replica was not empty within ${EMPTY_TIMEOUT_S} s`)
    }
  }
  for (const client of Object.values(clients)) await client.db('admin').command({ fsync: 1 })
  return database.collection(collection)
}

const reverseText = text => `*${[...text ?? ''].reverse().join('')}`

// Returns the whole value of a field, with the text at the path inside it reversed.
const changeText = (value, [name, ...inner]) => {
  return name === undefined
    ? reverseText(value)
    : { ...value, [name]: changeText(value?.[name], inner) }
}

// Returns each record's changed field by its key, in the collection's order of keys. In bulk all
// records have the same change.
async function makeChanges (collection, records, [name, ...inner], change, calls) {
  if (calls === 'bulk') return new Map(records.map(({ _id }) => [_id, change]))
  const values = new Map(records.map(record => [record._id, record[name]]))
  const ids = await collection.find({}, { projection: { _id: 1 } }).toArray()
  return new Map(ids.map(({ _id }) => [_id, { [name]: changeText(values.get(_id), inner) }]))
}

async function insertEach (collection, records) {
  for (const record of records) await collection.insertOne(record)
}

async function updateEach (collection, changes) {
  for (const [_id, $set] of changes) {
    const { matchedCount } = await collection.updateOne({ _id }, { $set })
    if (matchedCount !== 1) throw new Error(`there is no record '${_id}'`)
  }
}

async function deleteEach (collection, ids) {
  for (const _id of ids) {
    const { deletedCount } = await collection.deleteOne({ _id })
    if (deletedCount !== 1) throw new Error(`there is no record '${_id}'`)
  }
}

class Repetition {
  constructor (clients, collection, { parameters, data, sections }) {
    Object.assign(this, { clients, collection, parameters, data, sections })
  }

  async measure () {
    const { collection, data, parameters: { calls, delete: deleteCalls } } = this
    const { records, text, change: bulkChange } = data
    const isBulk = calls === 'bulk'
    const insert = () => {
      return isBulk ? collection.insertMany(records) : insertEach(collection, records)
    }
    await this.measureWrite('insert', insert, records)
    const changes = await makeChanges(collection, records, text, bulkChange, calls)
    const changed = records.map(record => ({ ...record, ...changes.get(record._id) }))
    const [$set] = changes.values()
    const update = () => {
      return isBulk ? collection.updateMany({}, { $set }) : updateEach(collection, changes)
    }
    await this.measureWrite('update', update, changed)
    if (!this.clients.replica) await this.measureSelect(changed)
    const deleteAll = () => {
      return deleteCalls === 'each'
        ? deleteEach(collection, changes.keys())
        : collection.deleteMany({})
    }
    await this.measureWrite('delete', deleteAll, [])
  }

  async measureWrite (operation, action, expected) {
    const { clients: { primary, replica }, parameters: { timeout_s: timeoutS } } = this
    const count = this.data.records.length
    const startedAt = new Date().toISOString()
    const started = process.hrtime.bigint()
    await action()
    const written = process.hrtime.bigint()
    const wallTime = subtractTimes(written, started)
    const values = [makeValue('client', 'wall_time', wallTime, 'process.hrtime', 1)]
    if (replica) {
      const caughtUp = await waitForReplica(replica, await readPosition(primary), timeoutS)
      const ended = process.hrtime.bigint()
      const source = 'process.hrtime, until the replica is at the primary\'s position'
      const addWait = (role, metric, value) => {
        values.push(makeValue(role, metric, value, source, RESOLUTION_NS, !caughtUp))
      }
      addWait('replica', 'catch_up_time', subtractTimes(ended, written))
      addWait('client', 'elapsed_time', subtractTimes(ended, started))
      this.addSection(operation, startedAt, count, values)
      // Wait as long again, untimed.
      if (!caughtUp && !await waitForReplica(replica, await readPosition(primary), timeoutS)) {
        throw new ReplicaLost(`the replica has not caught up within 2 times ${timeoutS} s`)
      }
    } else {
      this.addSection(operation, startedAt, count, values)
    }
    for (const [role, client] of Object.entries(this.clients)) {
      const database = client.db(this.collection.dbName)
      const found = await database.collection(this.collection.collectionName).find().toArray()
      checkRecords(found, expected, `${operation}, ${role}`)
    }
  }

  async measureSelect (expected) {
    const { collection, data: { records, group } } = this
    const keys = new Set(records.map(record => record[group]))
    const startedAt = new Date().toISOString()
    const started = process.hrtime.bigint()
    let found = []
    for (const key of keys) found = found.concat(await collection.find({ [group]: key }).toArray())
    const wallTime = subtractTimes(process.hrtime.bigint(), started)
    const values = [makeValue('client', 'wall_time', wallTime, 'process.hrtime', 1)]
    this.addSection('select', startedAt, found.length, values)
    checkRecords(found, expected, 'select')
  }

  addSection (operation, startedAt, count, values) {
    this.sections.push({ operation, started_at: startedAt, count, values })
  }
}

// Inserts, updates and deletes a user's records once, untimed, on the primary.
async function tryOwnRecords ({ primary }, parameters, data, databaseName) {
  await tryRecords('mongodb', async () => {
    const hasIndex = parameters.article_index
    const collection = await makeCollections({ primary }, data, hasIndex, databaseName)
    await new Repetition({ primary }, collection, { parameters, data, sections: [] }).measure()
  })
}

module.exports = async function measureCrud (request, addRepetition) {
  const { parameters, url, database, replica_url: replicaUrl, pids = [] } = request
  const data = readRecords(request.data)
  const clients = { primary: await connect(url, parameters.durability) }
  try {
    if (replicaUrl) clients.replica = await connect(replicaUrl, parameters.durability)
    for (const client of Object.values(clients)) await client.db('admin').command({ ping: 1 })
    if (parameters.dataset_file) await tryOwnRecords(clients, parameters, data, database)
    for (let number = 0; number < parameters.repetitions; number++) {
      const hasIndex = parameters.article_index
      const collection = await makeCollections(clients, data, hasIndex, database)
      await waitUntilIdle(pids)
      const sections = []
      try {
        await new Repetition(clients, collection, { parameters, data, sections }).measure()
      } catch (error) {
        if (!(error instanceof ReplicaLost)) throw error
        addRepetition(sections)
        return { driver: connect.version, lost: error.message }
      }
      addRepetition(sections)
    }
  } finally {
    for (const client of Object.values(clients)) await client.close()
  }
  return { driver: connect.version }
}
