// Reads the position of MongoDB's log, and waits until a replica has applied it: by a causally
// consistent read, without polling.
'use strict'
const { MongoNetworkTimeoutError, MongoOperationTimeoutError } = require('mongodb')

const READ_TIMEOUT_MS = 5000
// The server's code for a cluster time that it does not know yet. The driver sends that time only
// on a connection that has received one, which this refusal brings.
const CLUSTER_TIME_AHEAD = 72

// Returns the operation time of the primary's last write, from a command's answer, and its cluster
// time.
exports.readPosition = async function readPosition (primary) {
  return primary.withSession(async session => {
    await primary.db('admin').command({ ping: 1 }, { session })
    return { operationTime: session.operationTime, clusterTime: session.clusterTime }
  })
}

// Reads from the replica what must be as new as the position. Returns false when time runs out.
exports.waitForReplica = async function waitForReplica (replica, position, timeoutS) {
  const deadline = performance.now() + timeoutS * 1000
  return replica.withSession({ causalConsistency: true }, async session => {
    session.advanceClusterTime(position.clusterTime)
    session.advanceOperationTime(position.operationTime)
    for (let left; (left = deadline - performance.now()) > 0;) {
      const timeoutMs = Math.ceil(Math.min(left, READ_TIMEOUT_MS))
      if (await isAnswered(replica, session, timeoutMs)) return true
    }
    return false
  })
}

async function isAnswered (replica, session, timeoutMS) {
  try {
    await replica.db('benchbook').collection('nothing').findOne({}, { session, timeoutMS })
    return true
  } catch (error) {
    if (error.code === CLUSTER_TIME_AHEAD) return false
    const isTimeout =
      error instanceof MongoOperationTimeoutError || error instanceof MongoNetworkTimeoutError
    if (!isTimeout || isGone(replica)) throw error
    return false
  }
}

// Returns whether the replica refuses connections, and is not only slow.
function isGone ({ topology }) {
  const servers = [...(topology?.description.servers.values() ?? [])]
  return servers.some(({ error }) => error && !(error instanceof MongoNetworkTimeoutError))
}
