package org.benchbook;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** A timed section: the clock around an action, and this process' CPU read outside the clock. */
public record Timed<T>(T result, Instant startedAt, List<Value> values) {
    public static <T> Timed<T> run(String role, Callable<T> action) throws Exception {
        Instant startedAt = Instant.now();
        Cpu before = Cpu.now();
        long start = System.nanoTime();
        T result = action.call();
        long duration = System.nanoTime() - start;
        List<Value> values = new ArrayList<>(Cpu.now().since(before, role));
        values.add(0, new Value(role, "wall_time", duration, "ns", "System.nanoTime", 1));
        return new Timed<>(result, startedAt, values);
    }

    public Section section(String operation, long count) {
        return new Section(operation, startedAt, count, values);
    }
}
