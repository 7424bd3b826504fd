// Reads the request and writes the lines of the answer. benchbook checks both by
// ../contract.schema.json.
'use strict'
const { readFileSync, writeSync } = require('node:fs')

const STDIN = 0
const STDOUT = 1

exports.readRequest = () => JSON.parse(readFileSync(STDIN, 'utf8'))

// A pipe may take a line in several parts.
exports.printLine = function printLine (line) {
  const data = Buffer.from(JSON.stringify(line) + '\n')
  for (let written = 0; written < data.length;) {
    try {
      written += writeSync(STDOUT, data, written)
    } catch (error) {
      // The pipe is full: its reader is slower.
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

exports.printError = error => {
  exports.printLine({ error: { type: error.name || 'Error', message: String(error.message) } })
}
