// A timed section: the clock around an action, CPU of this process read outside the clock.
'use strict'

const value = (metric, value, unit, source, resolution) => ({ role: 'client', metric, value, unit, source, resolution })

// Returns what the action resolved to, and what was read: as the paper's js-meter does, but for what is garbage before.
module.exports = async function timed (operation, count, action) {
  global.gc() // what checking left behind is not the next operation's to clear
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
