package org.benchbook;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;

/** A timed section: the clock around an action, and this process' CPU read outside the clock. */
public record Timed<T>(T result, Instant startedAt, List<Value> values) {
    private static final Path STAT = Path.of("/proc/self/stat");
    private static final double TICK = 1e7; // the kernel states CPU in hundredths of a second to user space

    public static <T> Timed<T> run(String role, Callable<T> action) throws Exception {
        Instant startedAt = Instant.now();
        long[] before = cpu();
        long start = System.nanoTime();
        T result = action.call();
        long duration = System.nanoTime() - start;
        long[] after = cpu();
        return new Timed<>(result, startedAt, List.of(
                new Value(role, "wall_time", duration, "ns", "System.nanoTime", 1),
                new Value(role, "cpu_user", (after[0] - before[0]) * TICK, "ns", "/proc/self/stat", 2 * TICK),
                new Value(role, "cpu_system", (after[1] - before[1]) * TICK, "ns", "/proc/self/stat", 2 * TICK)));
    }

    public Section section(String operation, long count) {
        return new Section(operation, startedAt, count, values);
    }

    /** Returns the user and system time of this whole process, the compiler's and collector's threads too, in ticks. */
    private static long[] cpu() throws IOException {
        String stat = Files.readString(STAT);
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // a name may hold spaces
        return new long[] {Long.parseLong(fields[11]), Long.parseLong(fields[12])};
    }
}
