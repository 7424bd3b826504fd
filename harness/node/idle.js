// Waits until servers have finished what they do by themselves: each uses less than 2 % of a processor over 100 ms, as on the other languages.
'use strict'
const { readFileSync, readdirSync } = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 100
const SHARE = 0.02
const PATIENCE_MS = 60_000

// The time of a process on processors, in milliseconds, exact: its threads' own clocks.
function used (pid) {
  const of = thread => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0] / 1e6
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes(error.code)) throw error // it has ended
      return 0
    }
  }
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + of(thread), 0)
}

module.exports = async function idle (pids) {
  if (process.platform !== 'linux') return
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const start = performance.now()
    const before = pids.map(used)
    await sleep(WINDOW_MS)
    const after = pids.map(used)
    const window = performance.now() - start
    if (after.every((now, i) => now - before[i] < SHARE * window)) return
    if (performance.now() > deadline) throw new Error(`a server did not come to rest within ${PATIENCE_MS / 1000} s`)
  }
}
