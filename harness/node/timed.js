// A timed section: the clock around an action, CPU of this process read outside the clock.
'use strict'
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 5
const AT_REST_US = 250 // what waking up takes at most: a twentieth of the window
const PATIENCE_MS = 2000

const value = (metric, value, unit, source, resolution) => ({ role: 'client', metric, value, unit, source, resolution })

// V8's own threads sweep for some time what a collection found, and processor time of theirs is this process', too.
async function settled () {
  const deadline = performance.now() + PATIENCE_MS
  for (let atRest = 0; atRest < 2 && performance.now() < deadline;) {
    const before = process.cpuUsage()
    await sleep(WINDOW_MS)
    const { user, system } = process.cpuUsage(before)
    atRest = user + system < AT_REST_US ? atRest + 1 : 0
  }
}

// Returns what the action resolved to, and what was read: as the paper's js-meter does, but for what is garbage before.
module.exports = async function timed (operation, count, action) {
  global.gc() // what checking left behind is not the next operation's to clear
  await settled()
  const startedAt = new Date().toISOString()
  const cpu = process.cpuUsage()
  const start = process.hrtime.bigint()
  const result = await action()
  const duration = process.hrtime.bigint() - start
  const used = process.cpuUsage(cpu)
  const values = [
    value('wall_time', Number(duration), 'ns', 'process.hrtime', 1),
    value('cpu_user', used.user * 1000, 'ns', 'process.cpuUsage', 1000),
    value('cpu_system', used.system * 1000, 'ns', 'process.cpuUsage', 1000)
  ]
  return [result, { operation, count, started_at: startedAt, values }]
}
