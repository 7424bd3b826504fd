package org.benchbook.bookstore;

import java.io.PrintStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.benchbook.Answer;
import org.benchbook.Section;
import org.benchbook.Value;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Steady state in memory, by JMH: after its warm-up, each measurement iteration is a repetition, the mean of all that
 * fitted into it: a second, unless the request says `iteration_ms`. Not forked, for the cell has a JVM of its own: both formats and all operations share it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Warm {
    private static final List<String> OPERATIONS = List.of("marshal", "unmarshal", "round_trip");
    private static final int WARM_UP = 5;

    private static Codec given;
    private static Object thing;

    private Codec codec;
    private Object bookstore;
    private byte[] document;

    @Setup
    public void take() throws Exception {
        codec = given;
        bookstore = thing;
        document = codec.encode(bookstore);
    }

    @Benchmark
    public byte[] marshal() throws Exception {
        return codec.encode(bookstore);
    }

    @Benchmark
    public Object unmarshal() throws Exception {
        return codec.decode(document);
    }

    @Benchmark
    public Object round_trip() throws Exception {
        return codec.decode(codec.encode(bookstore));
    }

    /** Measures every operation of every codec, and answers. */
    static void run(Answer answer, List<Codec> codecs, Object bookstore, long books, TimeValue iteration)
            throws Exception {
        List<List<Section>> repetitions = new ArrayList<>();
        for (int i = 0; i < answer.repetitions(); i++) {
            repetitions.add(new ArrayList<>());
        }
        for (Codec codec : codecs) {
            byte[] document = codec.encode(bookstore);
            if (!bookstore.equals(codec.decode(document))) {
                throw new IllegalStateException(codec.name() + ": the object that was read back is not the one that was written");
            }
            for (String operation : OPERATIONS) {
                Instant startedAt = Instant.now();
                List<Double> times = measured(codec, bookstore, operation, answer.repetitions(), iteration);
                for (int i = 0; i < answer.repetitions(); i++) {
                    Value time = new Value("client", "wall_time", times.get(i), "ns", "JMH, mean of an iteration of " + iteration, 1);
                    Section section = new Section(operation, startedAt, books, List.of(time)).codec(codec.format(), codec.name());
                    if (operation.equals("marshal")) {
                        section.with(Value.size(document.length, "length"));
                    }
                    repetitions.get(i).add(section);
                }
            }
        }
        for (int i = 0; i < repetitions.size(); i++) {
            answer.repetition(i, repetitions.get(i));
        }
    }

    private static List<Double> measured(Codec codec, Object bookstore, String operation, int iterations, TimeValue iteration)
            throws RunnerException {
        given = codec;
        thing = bookstore;
        var options = new OptionsBuilder()
                .include("^" + Warm.class.getName().replace(".", "\\.") + "\\." + operation + "$")
                .forks(0)
                .shouldFailOnError(true)
                .warmupIterations(WARM_UP)
                .warmupTime(iteration)
                .measurementIterations(iterations)
                .measurementTime(iteration)
                .build();
        PrintStream told = System.err; // standard output is the answer's
        var results = new Runner(options, OutputFormatFactory.createFormatInstance(told, VerboseMode.SILENT)).runSingle();
        return results.getAggregatedResult().getIterationResults().stream()
                .map(IterationResult::getPrimaryResult)
                .map(result -> result.getScore())
                .toList();
    }
}
