// Study drivers: all records are inserted, found, updated and deleted, in each repetition.
'use strict'
const { fork } = require('node:child_process')
const { once } = require('node:events')
const { connect, DRIVERS } = require('./mongodb')
const { readRecords, checkRecords, tryRecords } = require('./records')
const makeBulkCalls = require('./bulk')
const waitUntilIdle = require('./idle')
const { timeAction, averageCalls } = require('./timed')

const COLLECTION = 'wide'
const OPERATIONS = ['insert', 'find', 'update', 'delete']

const makeSingleCalls = (store, records, [change]) => ({
  insert: async () => { for (const record of records) await store.insert(record) },
  find: async () => {
    const found = []
    for (const { _id } of records) found.push(...await store.find('_id', _id))
    return found
  },
  update: async () => { for (const { _id } of records) await store.update(_id, change) },
  delete: async () => { for (const { _id } of records) await store.delete(_id) }
})

// Measures one side's four operations in this process, each checked outside the clock.
async function measureTurn (store, work) {
  const { records, changes, deletes, calls, batch, pids } = work
  const count = records.length
  await store.empty()
  await waitUntilIdle(pids)
  // A driver may keep or mark the objects that it gets.
  const copies = records.map(record => ({ ...record }))
  const makeCalls = calls === 'bulk' ? makeBulkCalls : makeSingleCalls
  const actions = makeCalls(store, copies, changes, batch)

  const [, inserted] = await timeAction('insert', count, actions.insert)
  const found = await measureFind(store, work, actions.find)

  // All updates are one section. Each sets another text, so that each writes.
  const [, updated] = await timeAction('update', count, actions.update)
  checkRecords(await store.native.readAll(), records, 'update', changes.at(-1))

  // The native driver refills the collection before each delete but the first.
  const deleted = []
  for (let number = 0; number < deletes; number++) {
    if (number > 0) await store.native.insertMany(copies)
    const [, section] = await timeAction('delete', count, actions.delete)
    checkRecords(await store.native.readAll(), [], 'delete')
    deleted.push(section)
  }
  return [
    inserted,
    found,
    averageCalls([updated], changes.length),
    averageCalls(deleted, deletes)
  ]
}

// The result of find is garbage when this returns: the next operation begins without it.
async function measureFind (store, { records }, action) {
  const [result, section] = await timeAction('find', records.length, action)
  checkRecords(store.toRecords(result), records, 'find')
  return section
}

// Measures each operation in a new process: nothing is left there of the operation before.
async function measureProcesses (store, { records, changes: [change], pids, request }, { driver }) {
  const sections = []
  const children = OPERATIONS.map(() => {
    return fork(require.resolve('./operation'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  })
  // All have loaded what they need when they have sent their first message.
  await Promise.all(children.map(waitForMessage))
  await store.empty()
  await waitUntilIdle(pids)
  for (const operation of OPERATIONS) {
    const child = children.shift()
    child.send({ ...request, driver, name: COLLECTION, change, operation })
    const answer = await waitForMessage(child)
    if (answer?.error) {
      throw Object.assign(new Error(answer.error.message), { name: answer.error.name })
    }
    if (!answer?.values) throw new Error(`the process of ${operation} ended (${answer})`)
    // The process of find has checked its records.
    const contents = await store.native.readAll()
    if (operation === 'insert') checkRecords(contents, records, operation)
    if (operation === 'update') checkRecords(contents, records, operation, change)
    if (operation === 'delete') checkRecords(contents, [], operation)
    sections.push({ operation, count: records.length, ...answer })
  }
  return sections
}

// Returns a child's next message, or its exit status when it ends first.
async function waitForMessage (child) {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  return message
}

// Returns the turns of the first repetition in their order, which begins with turn `first`. An A/A
// check has each driver twice: when its other arm begins, the arms change their places.
function listTurns ({ driver, arm, process }, first) {
  const arms = arm === 'b' && process === 'together' ? [{ arm: 'a' }, { arm: 'b' }] : [{}]
  const drivers = driver.split('+')
  const turns = arms.flatMap(arm => drivers.map(driver => ({ driver, ...arm })))
  return [...turns.slice(first), ...turns.slice(0, first)]
}

module.exports = async function measureDrivers (request, addRepetition) {
  const { parameters, data, url, database, pids = [], first = 0 } = request
  const { calls, batch, durability, document_schema: schema } = parameters
  const { fields, records, changes, deletes } = readRecords(data)
  const forChildren = { url, database, data, durability, fields, schema, batch }
  const work = { records, changes, deletes, calls, batch, pids, request: forChildren }
  const isOwn = Boolean(parameters.dataset_file)
  const measure = parameters.process === 'operation' ? measureProcesses : measureTurn

  // All stores share one client with its connections.
  const client = await connect(url, durability)
  try {
    const stores = {}
    let version
    for (const driver of parameters.driver.split('+')) {
      const makeStore = () => DRIVERS[driver](client, database, COLLECTION, fields, schema)
      stores[driver] = isOwn ? await tryRecords(driver, makeStore) : await makeStore()
      // The mapper is the last one, and its version names the driver below it.
      version = stores[driver].version
      if (isOwn) {
        const trial = { ...work, changes: changes.slice(0, 1), deletes: 1 }
        await tryRecords(driver, () => measureTurn(stores[driver], trial))
      }
    }
    const turns = listTurns(parameters, first)
    for (let number = 0; number < parameters.repetitions; number++) {
      // Odd repetitions reverse the order, so that drift affects all sides.
      const sections = []
      for (const turn of number % 2 === 0 ? turns : turns.toReversed()) {
        for (const section of await measure(stores[turn.driver], work, turn)) {
          sections.push({ ...section, ...turn })
        }
      }
      addRepetition(sections)
    }
    return { driver: version }
  } finally {
    await client.close()
  }
}
