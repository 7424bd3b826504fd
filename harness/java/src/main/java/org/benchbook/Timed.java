package org.benchbook;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;

/** A timed section: the clock around an action, and this process' CPU read outside the clock. */
public record Timed<T>(T result, Instant startedAt, List<Value> values) {
    public static <T> Timed<T> run(String role, Callable<T> action) throws Exception {
        Instant startedAt = Instant.now();
        long[] before = Proc.cpu();
        long start = System.nanoTime();
        T result = action.call();
        long duration = System.nanoTime() - start;
        long[] after = Proc.cpu();
        return new Timed<>(result, startedAt, List.of(
                new Value(role, "wall_time", duration, "ns", "System.nanoTime", 1),
                Proc.user(role, before, after),
                Proc.system(role, before, after)));
    }

    public Section section(String operation, long count) {
        return new Section(operation, startedAt, count, values);
    }
}
