package org.benchbook.tcp;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PrimitiveIterator;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.benchbook.Answer;
import org.benchbook.Proc;
import org.benchbook.Request;
import org.benchbook.Section;
import org.benchbook.Timed;
import org.benchbook.Turns;
import org.benchbook.Turns.Turn;
import org.benchbook.Value;
import org.json.JSONObject;

/**
 * Study tcp: objects sent to a server in its own JVM.
 *
 * <p>The server's clock runs from the start command to the end signal. The codecs take turns with
 * one server.
 */
public final class Trials {
    private static final long IDLE_WINDOW_MS = 250;
    private static final int MAX_IDLE_WINDOWS = 80;

    /** Objects of the paper's trials of scenario 2, in their order. */
    private static final List<Integer> PAPER_TRIALS =
            List.of(20_000, 40_000, 60_000, 80_000, 100_000);

    /** How many of the first objects are encoded in both ways. */
    private static final int COMPARED_FIRST = 100;

    /** The interval between later objects that are encoded in both ways. */
    private static final int COMPARED_EVERY = 1000;

    /** The names of the codecs with their formats, XML's first. */
    private final Map<String, String> codecs = new LinkedHashMap<>();

    private final JSONObject parameters;
    private final Request request;
    private final List<Person> people;

    public Trials(Request request) throws IOException {
        this.request = request;
        parameters = request.parameters();
        for (String format : List.of("xml", "json")) {
            if (List.of(format, "both").contains(parameters.getString("format"))) {
                codecs.put(parameters.getString(format + "_codec"), format);
            }
        }
        // Several threads read them; the list has the file's order.
        try (Stream<String> lines = Files.lines(request.data(), StandardCharsets.UTF_8)) {
            people = lines.parallel().map(line -> Person.parse(new JSONObject(line))).toList();
        }
    }

    public void run(Answer answer) throws Exception {
        Stream<String> versions = codecs.keySet().stream().map(Codec::describeVersion).distinct();
        answer.setDriver(String.join(", ", versions.toList()));
        byte[] secret = new byte[Line.SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        Process server = startServer();
        try (BufferedReader output = server.inputReader();
                Writer input = server.outputWriter()) {
            JSONObject order = new JSONObject()
                    .put("secret", HexFormat.of().formatHex(secret))
                    .put("codecs", codecs.keySet())
                    .put("address", request.serverAddress());
            input.write(order + "\n");
            input.flush();
            int port = readPort(output);
            InetSocketAddress address = new InetSocketAddress(request.serverAddress(), port);
            List<Sender> senders = new ArrayList<>();
            for (String codec : codecs.keySet()) {
                String transport = parameters.getString("transport");
                senders.add(new Sender(new Client(address, secret, codec, transport)));
            }
            measure(answer, new Turns<>(senders, request), server.pid());
            for (Sender sender : senders) {
                sender.check();
            }
        } finally {
            server.destroyForcibly().waitFor();
        }
        writeLastDocuments();
    }

    private void measure(Answer answer, Turns<Sender> turns, long server) throws Exception {
        // The cost of first use must not be in only one arm of an A/A check.
        if (turns.hasBothArms()) {
            for (Turn<Sender> turn : turns.order(0)) {
                turn.codec().measure(server);
            }
        }
        List<Integer> earlier = listEarlierTrials();
        for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
            List<Section> sections = new ArrayList<>();
            for (Turn<Sender> turn : turns.order(repetition)) {
                if (!earlier.isEmpty()) {
                    sections.add(turn.codec().measureEarlier(server, earlier));
                }
                sections.add(turn.codec().measure(server).setArm(turn.arm()));
            }
            answer.printRepetition(repetition, sections);
        }
    }

    /** Returns the numbers of objects of the trials before the cell's own. */
    private List<Integer> listEarlierTrials() {
        if (!parameters.getString("trials").equals("sequence")) {
            return List.of();
        }
        return PAPER_TRIALS.stream().filter(count -> count < people.size()).toList();
    }

    /** Writes each codec's last document, which the library compares. */
    private void writeLastDocuments() throws Exception {
        for (String codec : codecs.keySet()) {
            byte[] document = Codec.make(codec).encode(people.get(people.size() - 1));
            Files.write(request.folder().resolve("last." + codecs.get(codec)), document);
        }
    }

    /** One codec's trials with the server. */
    private final class Sender {
        private final Client client;
        private final Codec encoder;
        private final boolean encodesInside;
        private List<byte[]> encoded = List.of();

        Sender(Client client) throws Exception {
            this.client = client;
            encoder = Codec.make(client.codec());
            encodesInside = parameters.getString("encode").equals("inside");
            if (!encodesInside) {
                encoded = encodeAll();
            }
        }

        /** Returns the encoded objects, after comparing the two ways to encode some of them. */
        private List<byte[]> encodeAll() throws Exception {
            List<byte[]> documents = new ArrayList<>(people.size());
            for (int i = 0; i < people.size(); i++) {
                byte[] document = encoder.prepare(people.get(i));
                boolean isCompared = i < COMPARED_FIRST || i % COMPARED_EVERY == 0;
                if (isCompared && !Arrays.equals(document, encoder.encode(people.get(i)))) {
                    throw new IllegalStateException("object " + i + " was prepared wrongly");
                }
                documents.add(document);
            }
            return documents;
        }

        /** Measures the cell's own trial. */
        Section measure(long server) throws Exception {
            return setCodec(runTrial(server, people.size()).makeSection("receive", people.size()));
        }

        /** Measures the earlier trials; the value is the server's time for all of them. */
        Section measureEarlier(long server, List<Integer> counts) throws Exception {
            Instant startedAt = Instant.now();
            long objects = 0;
            Value sum = null;
            for (int count : counts) {
                Value time = findServerTime(runTrial(server, count).values());
                sum = sum == null ? time : sum.plus(time);
                objects += count;
            }
            return setCodec(new Section("warm_up", startedAt, objects, List.of(sum)));
        }

        private static Value findServerTime(List<Value> values) {
            return values.stream()
                    .filter(value -> value.role().equals("server"))
                    .filter(value -> value.metric().equals("wall_time"))
                    .findFirst()
                    .orElseThrow();
        }

        private Section setCodec(Section section) {
            return section.setCodec(codecs.get(client.codec()), client.codec());
        }

        /** Sends the first objects when the server is idle, and returns the server's report. */
        private Timed<JSONObject> runTrial(long server, int count) throws Exception {
            List<Client.Objects> streams = makeStreams(count, parameters.getInt("connections"));
            try (Client.Connections connections = client.open(streams.size())) {
                awaitIdle(server);
                Instant startedAt = Instant.now();
                long[] card = request.serverCommand().isEmpty() ? null : Proc.readCard();
                long[] before = Proc.readMachine();
                long start = System.nanoTime();
                JSONObject report = client.runTrial(connections, streams, false);
                long duration = System.nanoTime() - start;
                List<Value> values = new ArrayList<>();
                values.add(new Value("client", "wall_time", duration, "ns", "System.nanoTime", 1));
                values.addAll(Proc.listMachineValues(before, Proc.readMachine()));
                if (card != null) {
                    values.addAll(Proc.listCardValues(card, Proc.readCard()));
                }
                for (Object value : report.getJSONArray("values")) {
                    values.add(Value.parse((JSONObject) value));
                }
                return new Timed<>(report, startedAt, values);
            }
        }

        /**
         * Sends all objects once more, and checks that the server decodes what was sent.
         *
         * <p>Nothing is timed, so each processor has a trial with its part of the objects.
         */
        void check() throws Exception {
            int processors = Runtime.getRuntime().availableProcessors();
            List<Callable<Long>> tasks = new ArrayList<>();
            for (Client.Objects part : makeStreams(people.size(), processors)) {
                tasks.add(() -> readDigest(part));
            }
            if (Threads.sum(tasks) != computeDigest()) {
                String decoded = "the objects that the server decoded";
                throw new IllegalStateException(decoded + " are not those that were sent");
            }
        }

        /** Sends objects, and returns the sum of the hashes of those that the server decodes. */
        private long readDigest(Client.Objects objects) throws Exception {
            try (Client.Connections connections = client.open(1)) {
                JSONObject report = client.runTrial(connections, List.of(objects), true);
                return Long.parseLong(report.getString("digest"));
            }
        }

        /** Returns each connection's part of the first objects. */
        private List<Client.Objects> makeStreams(int count, int connections) {
            List<Client.Objects> streams = new ArrayList<>();
            for (int first = 0; first < connections; first++) {
                PrimitiveIterator.OfInt numbers =
                        IntStream.iterate(first, i -> i < count, i -> i + connections).iterator();
                streams.add(() -> numbers.hasNext() ? getDocument(numbers.nextInt()) : null);
            }
            return streams;
        }

        private byte[] getDocument(int number) throws Exception {
            if (encodesInside) {
                return encoder.encode(people.get(number));
            }
            return encoded.get(number);
        }
    }

    private long computeDigest() throws Exception {
        long sum = 0;
        for (Person person : people) {
            sum += Trial.computeHash(person);
        }
        return sum;
    }

    private Process startServer() throws IOException {
        List<String> command = new ArrayList<>(request.serverCommand());
        if (request.serverProcessor().isPresent()) {
            String processor = Integer.toString(request.serverProcessor().getAsInt());
            command.addAll(List.of("taskset", "-c", processor));
        }
        command.add(ProcessHandle.current().info().command().orElse("java"));
        String heap = parameters.getString("heap");
        if (!heap.equals("default")) {
            command.add("-Xmx" + heap);
        }
        String classPath = System.getProperty("java.class.path");
        command.addAll(List.of("-cp", classPath, Server.class.getName()));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static int readPort(BufferedReader output) throws IOException {
        String line = output.readLine();
        if (line == null) {
            throw new IOException("the server did not start: see its error output");
        }
        return Integer.parseInt(line);
    }

    /** Waits until the server and its compiler are idle, at most twenty seconds. */
    private static void awaitIdle(long pid) throws IOException, InterruptedException {
        for (int window = 0; window < MAX_IDLE_WINDOWS; window++) {
            long[] before = Proc.readTicks(pid);
            Thread.sleep(IDLE_WINDOW_MS);
            long[] after = Proc.readTicks(pid);
            if (after[0] + after[1] == before[0] + before[1]) {
                return;
            }
        }
    }
}
