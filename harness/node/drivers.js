// Study drivers: all records inserted, found, updated and deleted, in each repetition from an emptied collection.
'use strict'
const { fork } = require('node:child_process')
const { randomInt } = require('node:crypto')
const { once } = require('node:events')
const { connect, DRIVERS } = require('./mongodb')
const { read, check, tried } = require('./records')
const bulk = require('./bulk')
const idle = require('./idle')
const timed = require('./timed')

const NAME = 'wide'

const single = (store, records, change) => ({
  insert: async () => { for (const record of records) await store.insert(record) },
  find: async () => {
    const found = []
    for (const { _id } of records) found.push(...await store.find('_id', _id))
    return found
  },
  update: async () => { for (const { _id } of records) await store.update(_id, change) },
  delete: async () => { for (const { _id } of records) await store.delete(_id) }
})

// One arm's four operations, each checked outside the clock.
async function turn (store, { records, change, calls, batch, pids }) {
  const sections = []
  const all = store.check || store.all
  await store.fresh()
  await idle(pids)
  const given = records.map(record => ({ ...record })) // a driver may keep or mark what it is given
  for (const [operation, action] of Object.entries((calls === 'bulk' ? bulk : single)(store, given, change, batch))) {
    const [result, section] = await timed(operation, records.length, action)
    if (operation === 'find') check(store.plain(result), records, operation)
    if (operation === 'update') check(await all(), records, operation, change)
    if (operation === 'delete') check(await all(), [], operation)
    sections.push(section)
  }
  return sections
}

// Each operation in a process of its own, which has what nothing before it has left; what it did is checked here.
async function alone (store, { records, change, pids, asked }, { driver }) {
  const sections = []
  const all = store.check || store.all
  const operations = ['insert', 'find', 'update', 'delete']
  const children = operations.map(() => fork(require.resolve('./operation'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
  await Promise.all(children.map(child => Promise.race([once(child, 'message'), once(child, 'exit')]))) // until all have loaded what they need
  await store.fresh()
  await idle(pids)
  for (const operation of operations) {
    const child = children.shift()
    child.send({ ...asked, driver, name: NAME, change, operation })
    const [found] = await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (found?.error) throw Object.assign(new Error(found.error.message), { name: found.error.name })
    if (!found?.values) throw new Error(`the process that was to ${operation} ended (${found})`)
    if (operation === 'insert') check(await all(), records, operation)
    if (operation === 'update') check(await all(), records, operation, change)
    if (operation === 'delete') check(await all(), [], operation)
    sections.push({ operation, count: records.length, ...found })
  }
  return sections
}

module.exports = async function drivers ({ parameters, data, url, database, pids = [] }, repetition) {
  const { fields, records, change } = read(data)
  const { calls, batch, durability, document_schema: schema, arm, repetitions } = parameters
  const given = { records, change, calls, batch, pids, asked: { url, database, data, durability, fields, schema, batch } }
  const own = Boolean(parameters.dataset_file)
  const make = own ? tried : (_, action) => action()
  const measured = parameters.process === 'operation' ? alone : turn
  const identical = arm === 'b' && parameters.process === 'together' ? [{ arm: 'a' }, { arm: 'b' }] : [{}]
  const client = await connect(url, durability) // one for all, with its connections
  try {
    const arms = []
    let version
    for (const driver of parameters.driver.split('+')) {
      const store = await make(driver, () => DRIVERS[driver](client, database, NAME, fields, schema))
      version = store.version // the mapper's, which names the driver below it, comes last
      arms.push({ store, driver })
      if (own) await tried(driver, () => turn(store, given))
    }
    const turns = identical.flatMap(each => arms.map(({ store, driver }) => ({ store, about: { driver, ...each } })))
    if (identical.length > 1) for (const { store, about } of turns) await measured(store, given, about) // else one would pay for all first uses
    const backwards = randomInt(2) // no arm has the better place in every block
    for (let i = 0; i < repetitions; i++) {
      const sections = []
      for (const { store, about } of i % 2 === backwards ? turns.toReversed() : turns) {
        for (const section of await measured(store, given, about)) sections.push({ ...section, ...about })
      }
      repetition(sections)
    }
    return { driver: version }
  } finally {
    await client.close()
  }
}
