// A process that does one operation and says by how much it grew: asked by its parent, with which it ends.
'use strict'
const { connect, DRIVERS } = require('./mongodb')
const bulk = require('./bulk')
const { read, check } = require('./records')

const value = (metric, value, source, resolution) => ({ role: 'client', metric, value, unit: 'B', source, resolution })

async function measure ({ url, database, data, durability, driver, name, fields, schema, change, operation, batch }) {
  const client = await connect(url, durability)
  const store = await DRIVERS[driver](client, database, name, fields, schema)
  const records = operation === 'insert' ? read(data).records : [] // no others are in the way of what is found
  const actions = bulk(store, records, change, batch)
  global.gc()
  const startedAt = new Date().toISOString()
  const before = process.memoryUsage()
  const result = await actions[operation]()
  const after = process.memoryUsage()
  if (operation === 'find') check(store.plain(result), read(data).records, operation)
  await client.close()
  return {
    started_at: startedAt,
    values: [
      value('memory_change', after.rss - before.rss, 'process.memoryUsage().rss', 4096),
      value('heap_change', after.heapUsed - before.heapUsed, 'process.memoryUsage().heapUsed', 1)
    ]
  }
}

process.on('disconnect', () => process.exit(1))
process.once('message', asked => measure(asked).then(
  found => process.send(found, () => process.exit(0)),
  error => process.send({ error: { name: error.name, message: error.message } }, () => process.exit(1))
))
process.send('ready')
