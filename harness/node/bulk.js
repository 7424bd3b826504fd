// The four operations in calls that reach all records; inserted in batches of so many, or all at once.
'use strict'
const { batched } = require('./records')

module.exports = function bulk (store, records, change, batch) {
  const batches = batched(records, batch)
  return {
    insert: async () => {
      if (batches.length === 1) return store.insertMany(records)
      for (const some of batches) await store.insertMany(some)
    },
    find: () => store.all(),
    update: () => store.updateMany(change),
    delete: () => store.deleteMany()
  }
}
