// Removes from package-lock.json the packages' own texts, which pin nothing and have addresses.
'use strict'
const { readFileSync, writeFileSync } = require('node:fs')
const lock = JSON.parse(readFileSync('package-lock.json'))
for (const entry of Object.values(lock.packages)) {
  delete entry.funding
  delete entry.deprecated
}
writeFileSync('package-lock.json', JSON.stringify(lock, null, 2) + '\n')
