package org.benchbook.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
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

/**
 * The server's state of one trial: its clock, the received objects, and the first error.
 *
 * <p>The thread that receives the start command makes it.
 */
final class Trial {
    final boolean acknowledge;
    private final Codec codec;
    private final boolean check;
    private volatile boolean hasJoined;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Cpu cpu;
    private final long busy;
    private final long start;
    private long received;
    private long digest;
    private IOException error;

    /** Starts the clock, as its last step. The server has made the codecs before. */
    Trial(Map<String, Codec> codecs, JSONObject order) throws IOException {
        codec = codecs.get(order.getString("codec"));
        if (codec == null) {
            String reason = "not a start command: the server was given no codec ";
            throw new IOException(reason + order.getString("codec"));
        }
        acknowledge = order.getBoolean("acknowledge");
        check = order.getBoolean("check");
        cpu = Cpu.read();
        busy = Cpu.readBusyTime();
        start = System.nanoTime();
    }

    /** Decodes one object; in a check adds its hash to the digest, otherwise discards it. */
    void decode(byte[] document) throws IOException {
        try {
            Person person = codec.decode(document);
            if (check) {
                long hash = computeHash(person);
                change(() -> digest += hash);
            }
        } catch (Exception | LinkageError | StackOverflowError failure) {
            throw new IOException("it cannot be decoded: " + failure, failure);
        }
    }

    /** Marks that objects come on other connections than the one that started the trial. */
    void join() {
        hasJoined = true;
    }

    /** Counts the objects of one connection. */
    void add(long objects) {
        change(() -> received += objects);
    }

    /** Keeps the first error, for the answer to the end signal. */
    void fail(IOException failure) {
        change(() -> {
            if (error == null) {
                error = failure;
            }
        });
    }

    /** Stops the clock when all objects have come, and returns the report. */
    JSONObject finish(long objects) throws IOException, InterruptedException {
        lock.lock();
        try {
            long left = TimeUnit.MILLISECONDS.toNanos(Line.TIMEOUT_MS);
            while (error == null && received < objects && left > 0) {
                left = changed.awaitNanos(left);
            }
            long elapsed = System.nanoTime() - start;
            if (error != null) {
                throw error;
            }
            if (received != objects) {
                String counts = received + " objects were received, " + objects + " were sent";
                throw new IOException(counts);
            }
            JSONArray values = new JSONArray();
            listValues(elapsed).forEach(value -> values.put(value.json()));
            return new JSONObject()
                    .put("values", values)
                    .put("objects", received)
                    .put("digest", Long.toString(digest));
        } finally {
            lock.unlock();
        }
    }

    private List<Value> listValues(long elapsed) throws IOException {
        long idle = Math.max(0, elapsed - (Cpu.readBusyTime() - busy));
        List<Value> values = new ArrayList<>(Cpu.read().listValuesSince(cpu, "server"));
        String clock = "System.nanoTime, from start to end signal";
        values.add(new Value("server", "wall_time", elapsed, "ns", clock, 1));
        int processors = Runtime.getRuntime().availableProcessors();
        double capacity = (double) elapsed * processors;
        String source = "the same, times " + processors + " processors that the server may use";
        values.add(new Value("server", "cpu_capacity", capacity, "ns", source, processors));
        // Several connections have several threads, which wait for each other, too.
        if (!hasJoined) {
            String waiting = "clock less the thread's CPU time and run delay";
            values.add(new Value("server", "idle_time", idle, "ns", waiting, 1));
        }
        values.add(Proc.readRss("server"));
        return values;
    }

    /** Returns a person's hash of 64 bits. The sum of hashes is the same in any order. */
    static long computeHash(Person person) throws Exception {
        byte[] text = person.joinFields().getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text)).getLong();
    }

    private void change(Runnable action) {
        lock.lock();
        try {
            action.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
