// Reads a request on standard input, does its study, and prints the answer: see ../contract.schema.json.
//   node --expose-gc --max-old-space-size=3072 harness.js
// The version of all that this folder measures, as lib/benchbook/grid/units.py uses it:
// VERSION = 1
'use strict'

const v8 = require('node:v8')
const { request, print, printError } = require('./contract')

const STUDIES = { drivers: './drivers', crud: './crud' }

async function main () {
  const asked = request(require('node:fs').readFileSync(0, 'utf8'))
  if (!(asked.study in STUDIES)) throw new Error(`no study ${asked.study} on this language`)
  console.log = console.error // what libraries print is not part of the answer
  let repetitions = 0
  const told = await require(STUDIES[asked.study])(asked, sections => print({ repetition: repetitions++, sections }))
  const runtime = `Node.js ${process.versions.node}`
  print({ closed: true, repetitions, runtime, heap_limit: v8.getHeapStatistics().heap_size_limit, ...told })
}

main().catch(error => {
  console.error(error)
  printError(error)
  process.exitCode = 1
})
