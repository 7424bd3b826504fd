package org.benchbook;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Readings of this process and of the machine, from Linux's /proc. */
public final class Proc {
    /** Nanoseconds of a tick: the kernel gives CPU time to programs in hundredths of a second. */
    static final double TICK = 1e7;

    private static final String CARD = "eth0";
    private static final Path STAT = Path.of("/proc/self/stat");

    private Proc() {}

    /** Returns this process' user and system time in ticks, with that of the JVM's own threads. */
    static long[] readTicks() throws IOException {
        return readTicks(STAT);
    }

    /** Returns another process' user and system time in ticks. */
    public static long[] readTicks(long pid) throws IOException {
        return readTicks(Path.of("/proc/" + pid + "/stat"));
    }

    /** Returns the memory that this process holds. */
    public static Value readRss(String role) throws IOException {
        double bytes = readKilobytes("/proc/self/status", "VmRSS:") * 1024.0;
        return new Value(role, "memory_rss", bytes, "B", "/proc/PID/status", 1024);
    }

    /**
     * Returns the machine's user, system and whole time in ticks.
     *
     * <p>Niced processes count as user time, interrupts as system time.
     */
    public static long[] readMachine() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/stat")).get(0);
        long[] t = Stream.of(line.split("\\s+")).skip(1).mapToLong(Long::parseLong).toArray();
        long whole = t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7];
        return new long[] {t[0] + t[1], t[2] + t[5] + t[6], whole};
    }

    /** Returns the machine's time between two readings, and its memory now: used is not free. */
    public static List<Value> listMachineValues(long[] before, long[] after) throws IOException {
        double total = readKilobytes("/proc/meminfo", "MemTotal:") * 1024.0;
        double free = readKilobytes("/proc/meminfo", "MemFree:") * 1024.0;
        return List.of(
                makeMachineTime("cpu_user", after[0] - before[0]),
                makeMachineTime("cpu_system", after[1] - before[1]),
                makeMachineTime("cpu_capacity", after[2] - before[2]),
                new Value("machine", "memory_used", total - free, "B", "/proc/meminfo", 1024),
                new Value("machine", "memory_total", total, "B", "/proc/meminfo", 1024));
    }

    /**
     * Returns the bytes of all frames that the network namespace's card has received and sent.
     *
     * <p>Returns null if the namespace has no card.
     */
    public static long[] readCard() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/net/dev"))) {
            String[] parts = line.strip().split("[:\\s]+");
            if (parts[0].equals(CARD)) {
                return new long[] {Long.parseLong(parts[1]), Long.parseLong(parts[9])};
            }
        }
        return null;
    }

    /** Returns the bytes that the client's card counted between two readings. */
    public static List<Value> listCardValues(long[] before, long[] after) {
        String source = CARD + " in the role's network namespace";
        double received = after[0] - before[0];
        double sent = after[1] - before[1];
        return List.of(
                new Value("client", "card_bytes_received", received, "B", source, 1),
                new Value("client", "card_bytes_sent", sent, "B", source, 1));
    }

    private static Value makeMachineTime(String metric, long ticks) {
        return new Value("machine", metric, ticks * TICK, "ns", "/proc/stat", TICK);
    }

    private static long[] readTicks(Path file) throws IOException {
        String stat = Files.readString(file);
        // A process' name can have spaces, and ends with the last parenthesis.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return new long[] {Long.parseLong(fields[11]), Long.parseLong(fields[12])};
    }

    private static long readKilobytes(String file, String name) throws IOException {
        for (String line : Files.readAllLines(Path.of(file))) {
            if (line.startsWith(name)) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException(file + " has no " + name);
    }
}
