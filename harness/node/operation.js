// A process that does one operation for its parent, and reports by how much its memory grew.
'use strict'
const { connect, DRIVERS } = require('./mongodb')
const makeBulkCalls = require('./bulk')
const { readRecords, checkRecords } = require('./records')

const makeValue = (metric, value, source, resolution) =>
  ({ role: 'client', metric, value, unit: 'B', source, resolution })

async function measureOperation (request) {
  const { url, database, data, durability, driver, name, fields, schema } = request
  const { change, operation, batch } = request
  const client = await connect(url, durability)
  const store = await DRIVERS[driver](client, database, name, fields, schema)
  // Only insert has records: elsewhere their memory would hide that of the operation.
  const records = operation === 'insert' ? readRecords(data).records : []
  const calls = makeBulkCalls(store, records, [change], batch)
  global.gc()
  const startedAt = new Date().toISOString()
  const before = process.memoryUsage()
  const result = await calls[operation]()
  const after = process.memoryUsage()
  if (operation === 'find') {
    checkRecords(store.toRecords(result), readRecords(data).records, operation)
  }
  await client.close()
  const rss = after.rss - before.rss
  const heap = after.heapUsed - before.heapUsed
  return {
    started_at: startedAt,
    values: [
      makeValue('memory_change', rss, 'process.memoryUsage().rss', 4096),
      makeValue('heap_change', heap, 'process.memoryUsage().heapUsed', 1)
    ]
  }
}

async function answerParent (request) {
  try {
    const measured = await measureOperation(request)
    process.send(measured, () => process.exit(0))
  } catch ({ name, message }) {
    process.send({ error: { name, message } }, () => process.exit(1))
  }
}

process.on('disconnect', () => process.exit(1))
process.once('message', answerParent)
process.send('ready')
