// Waits until servers have finished what they do by themselves.
'use strict'
const { readFileSync } = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 250
const PATIENCE_MS = 60_000

// User and system time of processes, in hundredths of a second.
function ticks (pids) {
  return pids.map(pid => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ').slice(11, 13).reduce((a, b) => +a + +b, 0))
}

module.exports = async function idle (pids) {
  if (process.platform !== 'linux') return
  const deadline = performance.now() + PATIENCE_MS
  for (let then = ticks(pids); ; then = ticks(pids)) {
    await sleep(WINDOW_MS)
    if (ticks(pids).every((now, i) => now - then[i] <= 0)) return
    if (performance.now() > deadline) throw new Error(`a server did not come to rest within ${PATIENCE_MS / 1000} s`)
  }
}
