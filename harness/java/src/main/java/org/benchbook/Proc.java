package org.benchbook;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What Linux tells of this process and of the machine. */
public final class Proc {
    /** The kernel states CPU in hundredths of a second to user space. */
    static final double TICK = 1e7;

    private static final String CARD = "eth0";
    private static final Path STAT = Path.of("/proc/self/stat");

    private Proc() {}

    /** Returns the user and system time of this whole process, the compiler's and collector's threads too, in ticks. */
    static long[] ticks() throws IOException {
        return ticks(STAT);
    }

    /** Returns the user and system time of another process, in ticks. */
    public static long[] ticks(long pid) throws IOException {
        return ticks(Path.of("/proc/" + pid + "/stat"));
    }

    public static Value rss(String role) throws IOException {
        return new Value(role, "memory_rss", kilobytes("/proc/self/status", "VmRSS:") * 1024.0, "B", "/proc/PID/status", 1024);
    }

    /** Returns the machine's user, system and whole time, in ticks: niced processes count as user, interrupts as system. */
    public static long[] machine() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/stat")).get(0);
        long[] t = Stream.of(line.split("\\s+")).skip(1).mapToLong(Long::parseLong).toArray();
        return new long[] {t[0] + t[1], t[2] + t[5] + t[6], t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7]};
    }

    /** Returns what the machine did between two readings, and its memory now: used is all that is not free. */
    public static List<Value> machine(long[] before, long[] after) throws IOException {
        double total = kilobytes("/proc/meminfo", "MemTotal:") * 1024.0;
        double free = kilobytes("/proc/meminfo", "MemFree:") * 1024.0;
        return List.of(
                new Value("machine", "cpu_user", (after[0] - before[0]) * TICK, "ns", "/proc/stat", TICK),
                new Value("machine", "cpu_system", (after[1] - before[1]) * TICK, "ns", "/proc/stat", TICK),
                new Value("machine", "cpu_capacity", (after[2] - before[2]) * TICK, "ns", "/proc/stat", TICK),
                new Value("machine", "memory_used", total - free, "B", "/proc/meminfo", 1024),
                new Value("machine", "memory_total", total, "B", "/proc/meminfo", 1024));
    }

    /** Returns the bytes of all frames that this network namespace's card has received and sent; null where it has none. */
    public static long[] card() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/net/dev"))) {
            String[] parts = line.strip().split("[:\\s]+");
            if (parts[0].equals(CARD)) {
                return new long[] {Long.parseLong(parts[1]), Long.parseLong(parts[9])};
            }
        }
        return null;
    }

    /** Returns what the client's card counted between two readings. */
    public static List<Value> card(long[] before, long[] after) {
        String source = CARD + " in the role's network namespace";
        return List.of(
                new Value("client", "card_bytes_received", after[0] - before[0], "B", source, 1),
                new Value("client", "card_bytes_sent", after[1] - before[1], "B", source, 1));
    }

    private static long[] ticks(Path file) throws IOException {
        String stat = Files.readString(file);
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // a name may hold spaces
        return new long[] {Long.parseLong(fields[11]), Long.parseLong(fields[12])};
    }

    private static long kilobytes(String file, String name) throws IOException {
        for (String line : Files.readAllLines(Path.of(file))) {
            if (line.startsWith(name)) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException(file + " has no " + name);
    }
}
