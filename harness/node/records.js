// The records of a cell: a file has one line that describes them, then one line per record.
'use strict'
const { readFileSync } = require('node:fs')
const { isDeepStrictEqual } = require('node:util')
const { MongoNetworkError, MongoServerSelectionError } = require('mongodb')

const DATES = new Set(['date', 'datetime'])

// The first line has the fields with their types, or an object with `fields` and what else the
// study needs.
exports.readRecords = function readRecords (file) {
  const [first, ...lines] = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const head = JSON.parse(first)
  const { fields, parents = [], ...rest } = Array.isArray(head) ? { fields: head } : head
  return {
    ...rest,
    fields,
    records: restoreDates(lines.map(line => JSON.parse(line)), fields),
    parents: parents.map(parent => {
      return { ...parent, records: restoreDates(parent.records, parent.fields) }
    })
  }
}

// JSON has no dates: their texts become dates again.
function restoreDates (records, fields) {
  const names = fields.filter(([, type]) => DATES.has(type)).map(([name]) => name)
  for (const record of records) {
    for (const name of names) if (name in record) record[name] = new Date(record[name])
  }
  return records
}

// Returns the records of each call: `size` many, or all.
exports.splitRecords = function splitRecords (records, size) {
  if (size === 'all') return [records]
  const batches = []
  for (let start = 0; start < records.length; start += size) {
    batches.push(records.slice(start, start + size))
  }
  return batches
}

// Does an untimed pass over a user's records. When it fails, the error has the product's words.
exports.tryRecords = async function tryRecords (name, pass) {
  try {
    return await pass()
  } catch (error) {
    const isLost = error instanceof MongoNetworkError || error instanceof MongoServerSelectionError
    if (isLost) throw error
    const message = `${name} does not take these records: ${error.message}`
    throw Object.assign(new Error(message), { name: 'UnfitError' })
  }
}

// Throws unless the found records are the expected ones with `change`, in any order.
exports.checkRecords = function checkRecords (found, records, after, change = {}) {
  const missing = new Map(records.map(record => [record._id, record]))
  for (const one of found) {
    const expected = missing.get(one._id)
    if (!expected) {
      const where = `after ${after}: record '${one._id}'`
      throw new Error(`${where} is there, and should not be (or not twice)`)
    }
    if (!isDeepStrictEqual(one, { ...expected, ...change })) {
      throw new Error(`after ${after}: record '${one._id}' differs`)
    }
    missing.delete(one._id)
  }
  if (missing.size) {
    throw new Error(`after ${after}: ${missing.size} of ${records.length} records are missing`)
  }
}
