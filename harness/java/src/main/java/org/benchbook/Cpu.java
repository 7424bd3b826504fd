package org.benchbook;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A reading of this process' CPU time, with that of the compiler's and collector's threads.
 *
 * <p>The total is exact to the nanosecond, from the scheduler's clock of each thread. The kernel
 * splits it into user and system time in hundredths of a second, as OperatingSystemMXBean has it. A
 * thread that has ended counts with its last reading.
 *
 * @param total nanoseconds since the process' start
 * @param user user time, in ticks
 * @param system system time, in ticks
 */
public record Cpu(long total, long user, long system) {
    private static final String SOURCE = "/proc/PID/task/*/schedstat";
    private static final String SPLIT_SOURCE = SOURCE + ", split as in /proc/PID/stat";
    private static final File TASKS = new File("/proc/self/task");
    private static final Path THREAD_STATISTICS = Path.of("/proc/thread-self/schedstat");
    private static final Map<String, Long> TIMES = new HashMap<>();
    private static final byte[] BUFFER = new byte[64];

    /** Reads what the process has used so far. */
    public static synchronized Cpu read() throws IOException {
        // This also brings the clock of the reading thread up to date.
        long[] ticks = Proc.readTicks();
        String[] threads = TASKS.list();
        if (threads == null) {
            throw new IOException(TASKS + " cannot be listed");
        }
        for (String thread : threads) {
            try (FileInputStream file = new FileInputStream(TASKS + "/" + thread + "/schedstat")) {
                TIMES.put(thread, parseTime(file.read(BUFFER)));
            } catch (IOException ended) {
                // The thread ended while the others were read.
            }
        }
        long total = TIMES.values().stream().mapToLong(Long::longValue).sum();
        return new Cpu(total, ticks[0], ticks[1]);
    }

    /** Returns the nanoseconds in which the calling thread ran or waited for a processor. */
    public static long readBusyTime() throws IOException {
        long running = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        String[] numbers = Files.readString(THREAD_STATISTICS).split(" ");
        return running + Long.parseLong(numbers[1]);
    }

    /** Returns the values between an earlier reading and this one; user and system to two ticks. */
    public List<Value> listValuesSince(Cpu before, String role) {
        double whole = total - before.total;
        long userTicks = user - before.user;
        long systemTicks = system - before.system;
        double share = 1;
        if (userTicks + systemTicks > 0) {
            share = (double) userTicks / (userTicks + systemTicks);
        }
        double resolution = 2 * Proc.TICK;
        return List.of(
                new Value(role, "cpu_total", whole, "ns", SOURCE, 1),
                new Value(role, "cpu_user", whole * share, "ns", SPLIT_SOURCE, resolution),
                new Value(role, "cpu_system", whole * (1 - share), "ns", SPLIT_SOURCE, resolution));
    }

    /** Returns the first number in the buffer. In a cold JVM this is cheaper than to parse text. */
    private static long parseTime(int length) {
        long nanoseconds = 0;
        for (int place = 0; place < length && BUFFER[place] != ' '; place++) {
            nanoseconds = 10 * nanoseconds + BUFFER[place] - '0';
        }
        return nanoseconds;
    }
}
