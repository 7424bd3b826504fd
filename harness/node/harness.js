// Reads a request from standard input, measures its study, and prints the answer, as
// ../contract.schema.json describes both.
//   node --expose-gc --max-old-space-size=3072 harness.js
// The version of all that this folder measures, as lib/benchbook/grid/units.py uses it:
// VERSION = 2
'use strict'

const v8 = require('node:v8')
const { readRequest, printLine, printError } = require('./contract')

const STUDIES = { drivers: './drivers', crud: './crud' }

async function main () {
  const request = readRequest()
  if (!(request.study in STUDIES)) throw new Error(`Node.js does not measure ${request.study}`)
  // The answer is on standard output, so libraries print to standard error.
  console.log = console.error
  const measureStudy = require(STUDIES[request.study])
  let repetitions = 0
  const closing = await measureStudy(request, sections => {
    printLine({ repetition: repetitions, sections })
    repetitions++
  })
  const runtime = `Node.js ${process.versions.node}`
  const heapLimit = v8.getHeapStatistics().heap_size_limit
  printLine({ closed: true, repetitions, runtime, heap_limit: heapLimit, ...closing })
}

main().catch(error => {
  console.error(error)
  printError(error)
  process.exitCode = 1
})
