// The one schema of what is asked and answered; nothing else is read or printed.
'use strict'
const { readFileSync, writeSync } = require('node:fs')
const { join } = require('node:path')
const Ajv = require('ajv/dist/2020')

const schema = JSON.parse(readFileSync(join(__dirname, '..', 'contract.schema.json'), 'utf8'))
const ajv = new Ajv({ discriminator: false, strict: true })
const checks = Object.fromEntries(['request', 'line'].map(what => [what, ajv.compile({ ...schema, $ref: `#/$defs/${what}` })]))

function check (what, told) {
  const valid = checks[what]
  if (!valid(told)) throw new Error(`the ${what} breaks the contract at ${valid.errors[0].instancePath || '/'}: ${valid.errors[0].message}`)
  return told
}

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

exports.request = text => check('request', JSON.parse(text))
exports.print = line => write(check('line', line))
exports.printError = error => write({ error: { type: error.name || 'Error', message: String(error.message) } })
