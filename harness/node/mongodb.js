// MongoDB through its native driver and through Mongoose, each as its users call it; retries off, as on the other languages.
'use strict'
const { MongoClient } = require('mongodb')
const mongoose = require('mongoose')

const CONCERN = { default: { w: 1 }, relaxed: { w: 1, journal: false }, strict: { w: 1, journal: true } }
const TYPES = { string: String, integer: Number, float: Number, date: Date, datetime: Date, boolean: Boolean }

const options = durability => ({
  readPreference: 'secondaryPreferred',
  writeConcern: CONCERN[durability],
  retryWrites: false,
  retryReads: false,
  serverSelectionTimeoutMS: 5000
})

const connect = (url, durability) => new MongoClient(url, options(durability)).connect()
connect.version = `mongodb ${require('mongodb/package.json').version} (Node ${process.version})`

// The driver's own collection: also what empties and checks the store for the mapper.
async function native (client, database, name) {
  const collection = client.db(database).collection(name)
  return {
    version: connect.version,
    fresh: async () => {
      await collection.drop().catch(error => { if (error.codeName !== 'NamespaceNotFound') throw error })
      await client.db(database).createCollection(name)
      await client.db('admin').command({ fsync: 1 })
    },
    all: () => collection.find().toArray(),
    insertMany: records => collection.insertMany(records),
    insert: record => collection.insertOne(record),
    find: async (field, value) => collection.find({ [field]: value }).toArray(),
    updateMany: change => collection.updateMany({}, { $set: change }),
    update: (id, change) => collection.updateOne({ _id: id }, { $set: change }),
    deleteMany: () => collection.deleteMany({}),
    delete: id => collection.deleteOne({ _id: id }),
    plain: records => records
  }
}

// What a field is declared as: its type; that it must be there; and a validator, which asks the same once more.
const there = { validator: value => value != null, message: 'is missing' }
const DECLARED = {
  types: type => ({ type }),
  required: type => ({ type, required: true }),
  validated: type => ({ type, required: true, validate: there })
}
mongoose.Schema.Types.String.checkRequired(value => value != null) // an empty text is there

// A field's type: documents inside have schemas of their own, arrays elements of one type.
function typed ([, type,, inside]) {
  if (type === 'document') return new mongoose.Schema(declared(inside, DECLARED.required), { _id: false, strict: 'throw', minimize: false })
  if (type === 'array') return [typed(inside[0])]
  return type === 'json' ? mongoose.Schema.Types.Mixed : TYPES[type]
}

// What may be absent is not required, and an array that is absent is none.
function declared (fields, how) {
  return Object.fromEntries(fields.map(field => {
    const [name, type, optional] = field
    const described = (optional ? DECLARED.types : how)(typed(field))
    return [name, type === 'array' ? { ...described, default: undefined } : described]
  }))
}

// A model whose fields are declared so.
async function mapped (client, database, name, fields, schema) {
  const below = await native(client, database, name)
  const connection = mongoose.createConnection().setClient(client).useDb(database)
  const options = { collection: name, versionKey: false, strict: 'throw', autoIndex: false, autoCreate: false, minimize: false }
  const Model = connection.model('Record', new mongoose.Schema(declared(fields, DECLARED[schema]), options))
  return {
    ...below,
    version: `mongoose ${mongoose.version}, ${below.version}`,
    insertMany: records => Model.insertMany(records),
    insert: record => Model.create(record),
    all: () => Model.find(),
    find: (field, value) => Model.find({ [field]: value }),
    updateMany: change => Model.updateMany({}, { $set: change }),
    update: (id, change) => Model.updateOne({ _id: id }, { $set: change }),
    deleteMany: () => Model.deleteMany({}),
    delete: id => Model.deleteOne({ _id: id }),
    plain: records => records.map(record => record.toObject()),
    check: below.all
  }
}

exports.connect = connect
exports.DRIVERS = { mongoclient: native, mongoose: mapped }
