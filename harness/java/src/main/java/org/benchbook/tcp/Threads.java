package org.benchbook.tcp;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads for tasks at the same time. */
final class Threads {
    private Threads() {}

    /** Runs each task in its own thread, and returns the sum of their results. */
    static long sum(List<Callable<Long>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            List<Future<Long>> results = new ArrayList<>();
            for (Callable<Long> task : tasks) {
                results.add(threads.submit(task));
            }
            long sum = 0;
            for (Future<Long> result : results) {
                sum += result.get();
            }
            return sum;
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            threads.shutdownNow();
        }
    }
}
