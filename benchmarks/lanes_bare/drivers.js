// The study's insert loop as a plain program: no contract, no checks.
//   node drivers.js URL RECORDS REPETITIONS      (RECORDS: a file, a line of JSON a record)
'use strict'
const { readFileSync } = require('node:fs')
const { MongoClient } = require(require.resolve('mongodb', { paths: [process.env.HARNESS] }))

async function main ([url, file, repetitions]) {
  const records = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line))
  const client = await new MongoClient(url, { writeConcern: { w: 1 }, retryWrites: false }).connect()
  const collection = client.db('benchbook').collection('bare')
  for (let i = 0; i < repetitions; i++) {
    await collection.drop()
    await client.db('benchbook').createCollection('bare')
    await client.db('admin').command({ fsync: 1 })
    const given = records.map(record => ({ ...record }))
    global.gc()
    const start = process.hrtime.bigint()
    for (const record of given) await collection.insertOne(record)
    console.log(Number(process.hrtime.bigint() - start))
  }
  await client.close()
}

main(process.argv.slice(2))
