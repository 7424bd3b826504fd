// Times an action: the clock around it, and the CPU time of this process outside the clock.
'use strict'
const { setTimeout: sleep } = require('node:timers/promises')

const WINDOW_MS = 5
const IDLE_US = 250 // To wake up takes at most this, a twentieth of the window.
const TIMEOUT_MS = 2000

const makeValue = (metric, value, unit, source, resolution) =>
  ({ role: 'client', metric, value, unit, source, resolution })

// V8's own threads still sweep after a collection, and their CPU time counts for this process.
async function waitUntilSwept () {
  const deadline = performance.now() + TIMEOUT_MS
  for (let idleWindows = 0; idleWindows < 2 && performance.now() < deadline;) {
    const before = process.cpuUsage()
    await sleep(WINDOW_MS)
    const { user, system } = process.cpuUsage(before)
    idleWindows = user + system < IDLE_US ? idleWindows + 1 : 0
  }
}

// Returns the action's result and its section, with the meters of the paper's js-meter.
exports.timeAction = async function timeAction (operation, count, action) {
  // Otherwise the action would collect the garbage of what came before it.
  global.gc()
  await waitUntilSwept()
  const startedAt = new Date().toISOString()
  const cpuBefore = process.cpuUsage()
  const start = process.hrtime.bigint()
  const result = await action()
  const duration = process.hrtime.bigint() - start
  const cpu = process.cpuUsage(cpuBefore)
  const values = [
    makeValue('wall_time', Number(duration), 'ns', 'process.hrtime', 1),
    makeValue('cpu_user', cpu.user * 1000, 'ns', 'process.cpuUsage', 1000),
    makeValue('cpu_system', cpu.system * 1000, 'ns', 'process.cpuUsage', 1000)
  ]
  return [result, { operation, count, started_at: startedAt, values }]
}

// Returns one section whose values are the mean of one call, of sections with so many calls in all.
exports.averageCalls = function averageCalls (sections, calls) {
  const [first] = sections
  if (calls === 1) return first
  const values = first.values.map((value, index) => {
    const sum = sections.reduce((total, section) => total + section.values[index].value, 0)
    return {
      ...value,
      value: sum / calls,
      source: `${value.source}, mean of ${calls} calls`,
      resolution: value.resolution / calls
    }
  })
  return { ...first, values }
}
