package org.benchbook.bookstore;

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
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormat;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Steady state in memory, by JMH.
 *
 * <p>After its warm-up each measurement iteration is a repetition, whose value is the mean of all
 * calls in it. An iteration takes a second, unless the request has `iteration_ms`. JMH does not
 * fork, because the cell has its own JVM. Both formats and all operations share it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Warm {
    private static final List<String> OPERATIONS = List.of("marshal", "unmarshal", "round_trip");
    private static final int WARM_UP_ITERATIONS = 5;

    // JMH makes the object whose methods it measures, so it gets these from the class.
    private static Codec sharedCodec;
    private static Object sharedBookstore;

    private Codec codec;
    private Object bookstore;
    private byte[] document;

    @Setup
    public void prepare() throws Exception {
        codec = sharedCodec;
        bookstore = sharedBookstore;
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

    /** Measures every operation of every codec, and prints the answer. */
    static void run(
            Answer answer, List<Binding> codecs, Object bookstore, long books, TimeValue iteration)
            throws Exception {
        List<List<Section>> repetitions = new ArrayList<>();
        for (int i = 0; i < answer.repetitions(); i++) {
            repetitions.add(new ArrayList<>());
        }
        String source = "JMH, mean of an iteration of " + iteration;
        for (Binding codec : codecs) {
            byte[] document = codec.encode(bookstore);
            Bookstores.checkEqual(codec, bookstore, codec.decode(document));
            for (String operation : OPERATIONS) {
                Instant startedAt = Instant.now();
                sharedCodec = codec;
                sharedBookstore = bookstore;
                List<Double> times = measure(operation, answer.repetitions(), iteration);
                for (int i = 0; i < answer.repetitions(); i++) {
                    Value time = new Value("client", "wall_time", times.get(i), "ns", source, 1);
                    Section section = new Section(operation, startedAt, books, List.of(time));
                    section.setCodec(codec.format(), codec.name());
                    if (operation.equals("marshal")) {
                        section.add(Value.makeSize(document.length, "length"));
                    }
                    repetitions.get(i).add(section);
                }
            }
        }
        for (int i = 0; i < repetitions.size(); i++) {
            answer.printRepetition(i, repetitions.get(i));
        }
    }

    /** Returns the mean time of each measurement iteration, in nanoseconds. */
    private static List<Double> measure(String operation, int iterations, TimeValue iteration)
            throws RunnerException {
        String method = Warm.class.getName().replace(".", "\\.") + "\\." + operation;
        Options options = new OptionsBuilder()
                .include("^" + method + "$")
                .forks(0)
                .shouldFailOnError(true)
                .warmupIterations(WARM_UP_ITERATIONS)
                .warmupTime(iteration)
                .measurementIterations(iterations)
                .measurementTime(iteration)
                .build();
        // Standard output has the answer only.
        OutputFormat output =
                OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT);
        RunResult result = new Runner(options, output).runSingle();
        return result.getAggregatedResult().getIterationResults().stream()
                .map(IterationResult::getPrimaryResult)
                .map(primary -> primary.getScore())
                .toList();
    }
}
