package org.benchbook;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** The result of a timed action, when it began, and the values that were read around it. */
public record Timed<T>(T result, Instant startedAt, List<Value> values) {
    /** Runs an action inside the clock; this process' CPU time is read outside the clock. */
    public static <T> Timed<T> run(String role, Callable<T> action) throws Exception {
        Instant startedAt = Instant.now();
        Cpu before = Cpu.read();
        long start = System.nanoTime();
        T result = action.call();
        long duration = System.nanoTime() - start;
        List<Value> values = new ArrayList<>(Cpu.read().listValuesSince(before, role));
        values.add(0, new Value(role, "wall_time", duration, "ns", "System.nanoTime", 1));
        return new Timed<>(result, startedAt, values);
    }

    public Section makeSection(String operation, long count) {
        return new Section(operation, startedAt, count, values);
    }
}
