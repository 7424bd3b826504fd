package org.benchbook.tcp;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchbook.Proc;
import org.benchbook.Value;
import org.json.JSONArray;
import org.json.JSONObject;

/** What the server knows of one trial: its clock, what it has received, and what went wrong. */
final class Trial {
    final boolean acknowledge;
    private final Codec codec;
    private final boolean check;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final long[] cpu = Proc.cpu();
    private final long start = System.nanoTime();
    private long received;
    private long digest;
    private IOException error;

    Trial(String codec, JSONObject order) throws Exception {
        this.codec = Codec.of(codec);
        acknowledge = order.getBoolean("acknowledge");
        check = order.getBoolean("check");
    }

    /** Decodes one object, and discards it unless this is a check. */
    void take(byte[] document) throws IOException {
        try {
            Person person = codec.decode(document);
            if (check) {
                long mark = fingerprint(person);
                locked(() -> digest += mark);
            }
        } catch (Exception | LinkageError | StackOverflowError failure) {
            throw new IOException("it cannot be decoded: " + failure, failure);
        }
    }

    /** Counts what one connection has brought. */
    void add(long objects) {
        locked(() -> received += objects);
    }

    /** Keeps the first error, for the reply to the end signal. */
    void fail(IOException failure) {
        locked(() -> error = error == null ? failure : error);
    }

    /** Stops the clock when all objects are here, and returns the report. */
    JSONObject finish(long objects) throws IOException, InterruptedException {
        lock.lock();
        try {
            long patience = TimeUnit.MILLISECONDS.toNanos(Line.PATIENCE_MS);
            while (error == null && received < objects && patience > 0) {
                patience = changed.awaitNanos(patience);
            }
            long elapsed = System.nanoTime() - start;
            if (error != null) {
                throw error;
            }
            if (received != objects) {
                throw new IOException(received + " objects were received, " + objects + " were sent");
            }
            JSONArray values = new JSONArray();
            readings(elapsed).forEach(value -> values.put(value.json()));
            return new JSONObject().put("values", values).put("objects", received).put("digest", Long.toString(digest));
        } finally {
            lock.unlock();
        }
    }

    private List<Value> readings(long elapsed) throws IOException {
        long[] now = Proc.cpu();
        return List.of(
                new Value("server", "wall_time", elapsed, "ns", "System.nanoTime, from start to end signal", 1),
                Proc.user("server", cpu, now),
                Proc.system("server", cpu, now),
                Proc.rss("server"));
    }

    /** Returns 64 bits of all that a person holds; they can be added up in any order. */
    static long fingerprint(Person person) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(person.told().getBytes(StandardCharsets.UTF_8));
        return java.nio.ByteBuffer.wrap(hash).getLong();
    }

    private void locked(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
