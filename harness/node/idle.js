// Waits until servers have finished what they do by themselves.
'use strict'
const { readFileSync, readdirSync } = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 100
const REST = 0.02 // of a processor: as in the Python lane
const PATIENCE_MS = 60_000

// What the threads of a process have used so far, in ns; of one that has just ended, nothing.
function used (pid) {
  let total = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error
    }
  }
  return total
}

module.exports = async function idle (pids) {
  if (process.platform !== 'linux') return
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const [start, then] = [performance.now(), pids.map(used)]
    await sleep(WINDOW_MS)
    const window = (performance.now() - start) * 1e6
    if (pids.every((pid, i) => used(pid) - then[i] < REST * window)) return
    if (performance.now() > deadline) throw new Error(`a server did not come to rest within ${PATIENCE_MS / 1000} s`)
  }
}
