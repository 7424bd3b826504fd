// The records that were given: a line that states what they are, then one a record.
'use strict'
const { readFileSync } = require('node:fs')
const { isDeepStrictEqual } = require('node:util')
const { MongoNetworkError, MongoServerSelectionError } = require('mongodb')

const DATES = new Set(['date', 'datetime'])

// The first line is the fields with their types, or an object that holds them with what else the study needs.
exports.read = function read (file) {
  const [first, ...lines] = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const head = JSON.parse(first)
  const { fields, parents = [], ...rest } = Array.isArray(head) ? { fields: head } : head
  return {
    ...rest,
    fields,
    records: restored(lines.map(line => JSON.parse(line)), fields),
    parents: parents.map(parent => ({ ...parent, records: restored(parent.records, parent.fields) }))
  }
}

function restored (records, fields) {
  const dates = fields.filter(([, type]) => DATES.has(type)).map(([name]) => name)
  for (const record of records) for (const name of dates) if (name in record) record[name] = new Date(record[name])
  return records
}

// What one call hands over each time: so many records, or all.
exports.batched = function batched (records, size) {
  if (size === 'all') return [records]
  return Array.from({ length: Math.ceil(records.length / size) }, (_, i) => records.slice(i * size, (i + 1) * size))
}

// Does an untimed pass over a user's records first; where it fails, they are refused, in the words of what refuses them.
exports.tried = async function tried (name, pass) {
  try {
    return await pass()
  } catch (error) {
    if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) throw error
    throw Object.assign(new Error(`${name} does not take these records: ${error.message}`), { name: 'UnfitError' })
  }
}

// Throws unless these are exactly those records, with some fields changed; in any order.
exports.check = function check (found, records, after, change = {}) {
  const due = new Map(records.map(record => [record._id, record]))
  for (const one of found) {
    const wanted = due.get(one._id)
    if (!wanted) throw new Error(`after ${after}: record '${one._id}' is there, and should not be (or not twice)`)
    if (!isDeepStrictEqual(one, { ...wanted, ...change })) throw new Error(`after ${after}: record '${one._id}' differs`)
    due.delete(one._id)
  }
  if (due.size) throw new Error(`after ${after}: ${due.size} of ${records.length} records are missing`)
}
