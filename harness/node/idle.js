// Waits until servers are idle: each uses less than 2 % of a processor over 100 ms, as in the other
// languages.
'use strict'
const { readFileSync, readdirSync } = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 100
const MAX_SHARE = 0.02
const TIMEOUT_MS = 60_000

// Returns a process' time on processors in milliseconds, exactly: the sum of its threads' clocks.
function readCpuTime (pid) {
  const readThread = thread => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0] / 1e6
    } catch (error) {
      // A thread that has ended has no file.
      if (!['ENOENT', 'ESRCH'].includes(error.code)) throw error
      return 0
    }
  }
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + readThread(thread), 0)
}

module.exports = async function waitUntilIdle (pids) {
  if (process.platform !== 'linux') return
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const start = performance.now()
    const before = pids.map(readCpuTime)
    await sleep(WINDOW_MS)
    const after = pids.map(readCpuTime)
    const window = performance.now() - start
    if (after.every((time, i) => time - before[i] < MAX_SHARE * window)) return
    if (performance.now() > deadline) {
      throw new Error(`a server was not idle within ${TIMEOUT_MS / 1000} s`)
    }
  }
}
