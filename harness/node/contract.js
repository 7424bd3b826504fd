// What is asked and answered, as ../contract.schema.json has it: whoever asks checks both.
'use strict'
const { writeSync } = require('node:fs')

// Written whole and at once: a pipe may take a line in parts.
function write (told) {
  const data = Buffer.from(JSON.stringify(told) + '\n')
  for (let done = 0; done < data.length;) {
    try {
      done += writeSync(1, data, done)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error // the reader is slower
    }
  }
}

exports.request = JSON.parse
exports.print = write
exports.printError = error => write({ error: { type: error.name || 'Error', message: String(error.message) } })
