package org.benchbook.tcp;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchbook.Cpu;
import org.benchbook.Proc;
import org.benchbook.Value;
import org.json.JSONArray;
import org.json.JSONObject;

/** What the server knows of one trial: its clock, what it has received, and what went wrong; made by the thread that receives. */
final class Trial {
    final boolean acknowledge;
    private final Codec codec;
    private final boolean check;
    private volatile boolean joined;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Cpu cpu;
    private final long busy;
    private final long start;
    private long received;
    private long digest;
    private IOException error;

    /** Starts the clock, last of all; the codecs are those that the server has made before. */
    Trial(Map<String, Codec> codecs, JSONObject order) throws IOException {
        codec = codecs.get(order.getString("codec"));
        if (codec == null) {
            throw new IOException("not a start command: the server was given no codec " + order.getString("codec"));
        }
        acknowledge = order.getBoolean("acknowledge");
        check = order.getBoolean("check");
        cpu = Cpu.now();
        busy = Cpu.busy();
        start = System.nanoTime();
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

    /** Says that objects come on other connections than the one that started the trial. */
    void join() {
        joined = true;
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
        long idle = Math.max(0, elapsed - (Cpu.busy() - busy));
        List<Value> values = new ArrayList<>(Cpu.now().since(cpu, "server"));
        values.add(new Value("server", "wall_time", elapsed, "ns", "System.nanoTime, from start to end signal", 1));
        int processors = Runtime.getRuntime().availableProcessors();
        String capacity = "the same, times " + processors + " processors that the server may use";
        values.add(new Value("server", "cpu_capacity", (double) elapsed * processors, "ns", capacity, processors));
        if (!joined) { // with several connections there are as many threads, which wait for each other too
            values.add(new Value("server", "idle_time", idle, "ns", "clock less the thread's CPU time and run delay", 1));
        }
        values.add(Proc.rss("server"));
        return values;
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
