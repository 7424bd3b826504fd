// MongoDB through its native driver and through Mongoose, each called as its users call it.
// Nothing is retried, as in the other languages.
'use strict'
const { MongoClient } = require('mongodb')
const mongoose = require('mongoose')

const WRITE_CONCERNS = {
  default: { w: 1 },
  relaxed: { w: 1, journal: false },
  strict: { w: 1, journal: true }
}
const TYPES = {
  string: String,
  integer: Number,
  float: Number,
  date: Date,
  datetime: Date,
  boolean: Boolean
}

const makeOptions = durability => ({
  readPreference: 'secondaryPreferred',
  writeConcern: WRITE_CONCERNS[durability],
  retryWrites: false,
  retryReads: false,
  serverSelectionTimeoutMS: 5000
})

const connect = (url, durability) => new MongoClient(url, makeOptions(durability)).connect()
connect.version = `mongodb ${require('mongodb/package.json').version} (Node ${process.version})`

// The collection through the native driver. It also empties, refills and checks for the mapper.
async function openNative (client, database, name) {
  const collection = client.db(database).collection(name)
  const store = {
    version: connect.version,
    empty: async () => {
      await collection.drop().catch(error => {
        if (error.codeName !== 'NamespaceNotFound') throw error
      })
      await client.db(database).createCollection(name)
      await client.db('admin').command({ fsync: 1 })
    },
    readAll: () => collection.find().toArray(),
    insertMany: records => collection.insertMany(records),
    insert: record => collection.insertOne(record),
    find: async (field, value) => collection.find({ [field]: value }).toArray(),
    updateMany: change => collection.updateMany({}, { $set: change }),
    update: (id, change) => collection.updateOne({ _id: id }, { $set: change }),
    deleteMany: () => collection.deleteMany({}),
    delete: id => collection.deleteOne({ _id: id }),
    toRecords: records => records
  }
  return { ...store, native: store }
}

// How the schema declares a field: its type, that it is required, and a validator that checks the
// same again.
const isPresent = { validator: value => value != null, message: 'is missing' }
const DECLARATIONS = {
  types: type => ({ type }),
  required: type => ({ type, required: true }),
  validated: type => ({ type, required: true, validate: isPresent })
}
// An empty text is not a missing one.
mongoose.Schema.Types.String.checkRequired(value => value != null)

// Returns a field's type. Documents inside have schemas of their own, arrays elements of one type.
function makeType ([, type,, inner]) {
  if (type === 'document') {
    const options = { _id: false, strict: 'throw', minimize: false }
    return new mongoose.Schema(declareFields(inner, DECLARATIONS.required), options)
  }
  if (type === 'array') return [makeType(inner[0])]
  return type === 'json' ? mongoose.Schema.Types.Mixed : TYPES[type]
}

// An optional field is not required, and a missing array stays missing.
function declareFields (fields, declare) {
  return Object.fromEntries(fields.map(field => {
    const [name, type, isOptional] = field
    const declaration = (isOptional ? DECLARATIONS.types : declare)(makeType(field))
    return [name, type === 'array' ? { ...declaration, default: undefined } : declaration]
  }))
}

// The collection through a model of Mongoose.
async function openMapper (client, database, name, fields, schema) {
  const { native } = await openNative(client, database, name)
  const connection = mongoose.createConnection().setClient(client).useDb(database)
  const options = {
    collection: name,
    versionKey: false,
    strict: 'throw',
    autoIndex: false,
    autoCreate: false,
    minimize: false
  }
  const declarations = declareFields(fields, DECLARATIONS[schema])
  const Model = connection.model('Record', new mongoose.Schema(declarations, options))
  return {
    native,
    version: `mongoose ${mongoose.version}, ${native.version}`,
    empty: native.empty,
    readAll: () => Model.find(),
    insertMany: records => Model.insertMany(records),
    insert: record => Model.create(record),
    find: (field, value) => Model.find({ [field]: value }),
    updateMany: change => Model.updateMany({}, { $set: change }),
    update: (id, change) => Model.updateOne({ _id: id }, { $set: change }),
    deleteMany: () => Model.deleteMany({}),
    delete: id => Model.deleteOne({ _id: id }),
    toRecords: records => records.map(record => record.toObject())
  }
}

exports.connect = connect
exports.DRIVERS = { mongoclient: openNative, mongoose: openMapper }
