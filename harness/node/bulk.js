// The four operations in calls that reach all records; the records are inserted in batches.
'use strict'
const { splitRecords } = require('./records')

// `changes` has the changed fields of each call of update: one call after the other.
module.exports = function makeBulkCalls (store, records, changes, batchSize) {
  const batches = splitRecords(records, batchSize)
  return {
    insert: async () => {
      if (batches.length === 1) return store.insertMany(records)
      for (const batch of batches) await store.insertMany(batch)
    },
    find: () => store.readAll(),
    update: async () => { for (const change of changes) await store.updateMany(change) },
    delete: () => store.deleteMany()
  }
}
