// The study's loop as a plain program: no contract, no checks, nothing else read than the clock.
//   node drivers.js URL RECORDS DATES FIELD REPETITIONS
//   (RECORDS: a file, a line of JSON a record; DATES: which fields are dates, in JSON; FIELD: what is updated)
'use strict'
const { readFileSync } = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')
const { MongoClient } = require(require.resolve('mongodb', { paths: [process.env.HARNESS] }))

async function main ([url, file, dates, field, repetitions]) {
  const records = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line))
  for (const record of records) for (const name of JSON.parse(dates)) record[name] = new Date(record[name])
  const change = { [field]: `new ${field}` }
  const client = await new MongoClient(url, { writeConcern: { w: 1 }, retryWrites: false, retryReads: false }).connect()
  const collection = client.db('benchbook').collection('bare')
  for (let i = 0; i < repetitions; i++) {
    await collection.drop()
    await client.db('benchbook').createCollection('bare')
    await client.db('admin').command({ fsync: 1 })
    await sleep(250) // as long as the harness looks whether the server has come to rest
    const given = records.map(record => ({ ...record }))
    let took = 0n
    const timed = async action => {
      global.gc()
      const start = process.hrtime.bigint()
      await action()
      took += process.hrtime.bigint() - start
    }
    await timed(async () => { for (const record of given) await collection.insertOne(record) })
    const found = []
    await timed(async () => { for (const { _id } of given) found.push(...await collection.find({ _id }).toArray()) })
    await timed(async () => { for (const { _id } of given) await collection.updateOne({ _id }, { $set: change }) })
    await timed(async () => { for (const { _id } of given) await collection.deleteOne({ _id }) })
    console.log(Number(took))
  }
  await client.close()
}

main(process.argv.slice(2))
