// Study drivers: all records inserted, found, updated and deleted, in each repetition from an emptied collection.
'use strict'
const { open } = require('./mongodb')
const { read, check } = require('./records')
const idle = require('./idle')
const timed = require('./timed')

const NAME = 'wide'

const bulk = (store, records, change) => ({
  insert: () => store.insertMany(records),
  find: () => store.all(),
  update: () => store.updateMany(change),
  delete: () => store.deleteMany()
})

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

module.exports = async function drivers ({ parameters, data, url, pids = [] }, repetition) {
  const { fields, records } = read(data)
  const field = fields.find(([name, type]) => type === 'string' && name !== '_id')[0]
  const change = { [field]: `new ${field}` }
  const store = await open[parameters.driver](url, NAME, parameters.durability, fields)
  const all = store.check || store.all
  try {
    for (let i = 0; i < parameters.repetitions; i++) {
      const sections = []
      await store.fresh()
      await idle(pids)
      const given = records.map(record => ({ ...record })) // a driver may keep or mark what it is given
      const calls = (parameters.calls === 'bulk' ? bulk : single)(store, given, change)
      for (const [operation, action] of Object.entries(calls)) {
        const [result, section] = await timed(operation, records.length, action)
        if (operation === 'find') check(store.plain(result), records, operation)
        if (operation === 'update') check(await all(), records, operation, change)
        if (operation === 'delete') check(await all(), [], operation)
        sections.push(section)
      }
      repetition(sections)
    }
  } finally {
    await store.close()
  }
  return { driver: store.version }
}
