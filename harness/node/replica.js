// Where MongoDB's log stands, and waiting until a replica has applied it: by a causally consistent read, without polling.
'use strict'
const { MongoNetworkTimeoutError, MongoOperationTimeoutError } = require('mongodb')

const ANSWER_MS = 5000
const AHEAD = 72 // the driver tells the cluster's time only on a connection that has heard one: the refusal tells it

// Returns the operation time of the primary's last write, as any command's answer states it, and its cluster time.
exports.at = async function at (primary) {
  return primary.withSession(async session => {
    await primary.db('admin').command({ ping: 1 }, { session })
    return { operationTime: session.operationTime, clusterTime: session.clusterTime }
  })
}

// Reads from the replica what must be as new as that; false when the time ran out.
exports.reaches = async function reaches (replica, { operationTime, clusterTime }, patience) {
  const deadline = performance.now() + patience * 1000
  return replica.withSession({ causalConsistency: true }, async session => {
    session.advanceClusterTime(clusterTime)
    session.advanceOperationTime(operationTime)
    for (let left; (left = deadline - performance.now()) > 0;) {
      if (await answers(replica, session, Math.ceil(Math.min(left, ANSWER_MS)))) return true
    }
    return false
  })
}

async function answers (replica, session, timeoutMS) {
  try {
    await replica.db('benchbook').collection('nothing').findOne({}, { session, timeoutMS })
    return true
  } catch (error) {
    if (error.code === AHEAD) return false
    const late = error instanceof MongoOperationTimeoutError || error instanceof MongoNetworkTimeoutError
    if (!late || gone(replica)) throw error
    return false
  }
}

// Whether the replica refuses connections, and is not only slow.
const gone = ({ topology }) => [...(topology?.description.servers.values() ?? [])]
  .some(({ error }) => error && !(error instanceof MongoNetworkTimeoutError))
