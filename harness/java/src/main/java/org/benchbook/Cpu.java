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
 * This process' processor time, the compiler's and collector's threads too.
 *
 * <p>All of it is exact to the nanosecond, from the scheduler's clock of each thread; how it splits into user and system time
 * the kernel keeps in hundredths of a second, as OperatingSystemMXBean keeps the whole. Threads that have ended count with
 * what was last read of them.
 *
 * @param total nanoseconds since the process' start
 * @param user its part in user mode, in ticks
 * @param system its part in the kernel, in ticks
 */
public record Cpu(long total, long user, long system) {
    private static final String SOURCE = "/proc/PID/task/*/schedstat";
    private static final String SPLIT = SOURCE + ", split as in /proc/PID/stat";
    private static final File TASKS = new File("/proc/self/task");
    private static final Path OWN = Path.of("/proc/thread-self/schedstat");
    private static final Map<String, Long> READ = new HashMap<>();
    private static final byte[] TOLD = new byte[64];

    /** Returns what the process has used so far. */
    public static synchronized Cpu now() throws IOException {
        long[] ticks = Proc.ticks(); // brings the clock of the thread that asks up to date, too
        String[] threads = TASKS.list();
        if (threads == null) {
            throw new IOException(TASKS + " cannot be listed");
        }
        for (String thread : threads) {
            try (FileInputStream file = new FileInputStream(TASKS + "/" + thread + "/schedstat")) {
                READ.put(thread, processorTime(file.read(TOLD)));
            } catch (IOException ended) {
                // while they were read
            }
        }
        return new Cpu(READ.values().stream().mapToLong(Long::longValue).sum(), ticks[0], ticks[1]);
    }

    /** Returns for how long the thread that asks has run or waited for a processor, in nanoseconds. */
    public static long busy() throws IOException {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + schedstat(OWN)[1];
    }

    /** Returns the time used since an earlier reading, exact, and its user and system parts, either good to two ticks. */
    public List<Value> since(Cpu before, String role) {
        double whole = total - before.total;
        long inUser = user - before.user;
        long inSystem = system - before.system;
        double share = inUser + inSystem == 0 ? 1 : (double) inUser / (inUser + inSystem);
        return List.of(
                new Value(role, "cpu_total", whole, "ns", SOURCE, 1),
                new Value(role, "cpu_user", whole * share, "ns", SPLIT, 2 * Proc.TICK),
                new Value(role, "cpu_system", whole * (1 - share), "ns", SPLIT, 2 * Proc.TICK));
    }

    /** Returns the first number of what was told, in so many bytes: cheaper than a text's, in a JVM that is cold. */
    private static long processorTime(int length) {
        long nanoseconds = 0;
        for (int place = 0; place < length && TOLD[place] != ' '; place++) {
            nanoseconds = 10 * nanoseconds + TOLD[place] - '0';
        }
        return nanoseconds;
    }

    /** Returns a thread's time on a processor and in the queue for one, in nanoseconds. */
    private static long[] schedstat(Path file) throws IOException {
        String[] told = Files.readString(file).split(" ");
        return new long[] {Long.parseLong(told[0]), Long.parseLong(told[1])};
    }
}
