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
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.benchbook.Answer;
import org.benchbook.Proc;
import org.benchbook.Request;
import org.benchbook.Section;
import org.benchbook.Turns;
import org.benchbook.Turns.Turn;
import org.benchbook.Value;
import org.json.JSONObject;

/**
 * Study tcp: objects sent to a server in a JVM of its own, whose clock runs from the start command to the end signal. The
 * codecs take turns with that one server.
 */
public final class Trials {
    private static final long IDLE_WINDOW_MS = 250;
    private static final int IDLE_WINDOWS = 80;

    /** Objects of the paper's trials of scenario 2, in its order. */
    private static final List<Integer> PAPERS = List.of(20_000, 40_000, 60_000, 80_000, 100_000);

    private final Map<String, String> codecs = new LinkedHashMap<>(); // and each one's format, XML's first
    private final JSONObject parameters;
    private final Path folder;
    private final Request request;
    private final List<Person> people = new ArrayList<>();

    public Trials(Request request) throws IOException {
        parameters = request.parameters();
        folder = request.folder();
        this.request = request;
        for (String format : List.of("xml", "json")) {
            if (List.of(format, "both").contains(parameters.getString("format"))) {
                codecs.put(parameters.getString(format + "_codec"), format);
            }
        }
        try (Stream<String> lines = Files.lines(request.data(), StandardCharsets.UTF_8)) {
            lines.forEach(line -> people.add(Person.of(new JSONObject(line))));
        }
    }

    public void run(Answer answer) throws Exception {
        answer.driver(String.join(", ", codecs.keySet().stream().map(Codec::version).distinct().toList()));
        byte[] secret = new byte[Line.SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        Process server = start();
        try (BufferedReader said = server.inputReader(); Writer given = server.outputWriter()) {
            JSONObject order = new JSONObject().put("secret", HexFormat.of().formatHex(secret)).put("codecs", codecs.keySet()).put("address", request.serverAddress());
            given.write(order + "\n");
            given.flush();
            InetSocketAddress address = new InetSocketAddress(request.serverAddress(), port(said));
            List<Sender> senders = new ArrayList<>();
            for (String codec : codecs.keySet()) {
                senders.add(new Sender(new Client(address, secret, codec, parameters.getString("transport"))));
            }
            measure(answer, new Turns<>(senders, parameters), server.pid());
            for (Sender sender : senders) {
                sender.check();
            }
        } finally {
            server.destroyForcibly().waitFor();
        }
        for (String codec : codecs.keySet()) {
            Files.write(folder.resolve("last." + codecs.get(codec)), Codec.of(codec).encode(people.get(people.size() - 1)));
        }
    }

    private void measure(Answer answer, Turns<Sender> turns, long server) throws Exception {
        if (turns.paired()) {
            for (Turn<Sender> turn : turns.in(0)) {
                turn.codec().trial(server);
            }
        }
        for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
            List<Section> sections = new ArrayList<>();
            for (Turn<Sender> turn : turns.in(repetition)) {
                if (!earlier().isEmpty()) {
                    sections.add(turn.codec().warmUp(server, earlier()));
                }
                sections.add(turn.codec().trial(server).arm(turn.arm()));
            }
            answer.repetition(repetition, sections);
        }
    }

    /** Returns how many objects each of the trials has that go before the cell's own. */
    private List<Integer> earlier() {
        boolean sequence = parameters.getString("trials").equals("sequence");
        return PAPERS.stream().filter(count -> sequence && count < people.size()).toList();
    }

    /** When a trial began, and what was read around it. */
    private record Trialled(Instant startedAt, List<Value> values) {}

    /** One codec's trials with the server: the objects encoded before any of them, or as they are sent. */
    private final class Sender {
        private final Client client;
        private final Codec encoder;
        private final List<byte[]> encoded = new ArrayList<>();

        Sender(Client client) throws Exception {
            this.client = client;
            encoder = Codec.of(client.codec());
            if (parameters.getString("encode").equals("before")) {
                for (Person person : people) {
                    encoded.add(encoder.encode(person));
                }
            }
        }

        Section trial(long server) throws Exception {
            Trialled all = send(server, people.size());
            return section("receive", all.startedAt(), people.size(), all.values());
        }

        /** Sends the earlier trials, and returns the server's time for all of them. */
        Section warmUp(long server, List<Integer> counts) throws Exception {
            Instant startedAt = Instant.now();
            Value sum = null;
            for (int count : counts) {
                Value time = send(server, count).values().stream().filter(Sender::isTheServersTime).findFirst().orElseThrow();
                sum = sum == null ? time : sum.plus(time);
            }
            return section("warm_up", startedAt, counts.stream().mapToInt(count -> count).sum(), List.of(sum));
        }

        private static boolean isTheServersTime(Value value) {
            return value.role().equals("server") && value.metric().equals("wall_time");
        }

        private Section section(String operation, Instant startedAt, long count, List<Value> values) {
            return new Section(operation, startedAt, count, values).codec(codecs.get(client.codec()), client.codec());
        }

        /** Sends the first so many objects, once the server rests. */
        private Trialled send(long server, int count) throws Exception {
            List<Client.Objects> streams = streams(count);
            try (Client.Opened opened = client.open(streams.size())) {
                awaitIdle(server);
                Instant startedAt = Instant.now();
                long[] card = request.serverCommand().isEmpty() ? null : Proc.card();
                long[] before = Proc.machine();
                long start = System.nanoTime();
                JSONObject report = client.trial(opened, streams, false);
                long duration = System.nanoTime() - start;
                List<Value> values = new ArrayList<>(Proc.machine(before, Proc.machine()));
                values.addAll(card == null ? List.of() : Proc.card(card, Proc.card()));
                values.add(0, new Value("client", "wall_time", duration, "ns", "System.nanoTime", 1));
                report.getJSONArray("values").forEach(value -> values.add(Value.of((JSONObject) value)));
                return new Trialled(startedAt, values);
            }
        }

        /** Sends all once more and holds that the server decoded what was sent. */
        void check() throws Exception {
            List<Client.Objects> streams = streams(people.size());
            try (Client.Opened opened = client.open(streams.size())) {
                JSONObject report = client.trial(opened, streams, true);
                if (!report.getString("digest").equals(Long.toString(digest()))) {
                    throw new IllegalStateException("the objects that the server decoded are not those that were sent");
                }
            }
        }

        /** Returns each connection's part of the first so many objects, as its turn comes. */
        private List<Client.Objects> streams(int count) {
            int connections = parameters.getInt("connections");
            boolean before = parameters.getString("encode").equals("before");
            List<Client.Objects> streams = new ArrayList<>();
            for (int first = 0; first < connections; first++) {
                PrimitiveIterator.OfInt left = IntStream.iterate(first, i -> i < count, i -> i + connections).iterator();
                streams.add(() -> {
                    if (!left.hasNext()) {
                        return null;
                    }
                    int next = left.nextInt();
                    return before ? encoded.get(next) : encoder.encode(people.get(next));
                });
            }
            return streams;
        }
    }

    private long digest() throws Exception {
        long sum = 0;
        for (Person person : people) {
            sum += Trial.fingerprint(person);
        }
        return sum;
    }

    private Process start() throws IOException {
        List<String> command = new ArrayList<>(request.serverCommand());
        request.serverProcessor().ifPresent(processor -> command.addAll(List.of("taskset", "-c", Integer.toString(processor))));
        command.add(ProcessHandle.current().info().command().orElse("java"));
        if (!parameters.getString("heap").equals("default")) {
            command.add("-Xmx" + parameters.getString("heap"));
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Server.class.getName()));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static int port(BufferedReader said) throws IOException {
        String line = said.readLine();
        if (line == null) {
            throw new IOException("the server did not come up; what it said stands on the error output");
        }
        return Integer.parseInt(line);
    }

    /** Waits until the server, its compiler too, has rested for a moment; no longer than twenty seconds. */
    private static void awaitIdle(long pid) throws IOException, InterruptedException {
        for (int window = 0; window < IDLE_WINDOWS; window++) {
            long[] then = Proc.ticks(pid);
            Thread.sleep(IDLE_WINDOW_MS);
            long[] now = Proc.ticks(pid);
            if (now[0] + now[1] == then[0] + then[1]) {
                return;
            }
        }
    }
}
