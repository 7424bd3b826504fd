package org.benchbook.tcp;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
    private static final int SECRET = 32;

    private final Map<String, String> codecs = new LinkedHashMap<>(); // and each one's format, XML's first
    private final JSONObject parameters;
    private final Path folder;
    private final List<Person> people = new ArrayList<>();

    public Trials(Request request) throws IOException {
        parameters = request.parameters();
        folder = request.folder();
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
        byte[] secret = new byte[SECRET];
        new SecureRandom().nextBytes(secret);
        Process server = start();
        try (BufferedReader said = server.inputReader(); Writer given = server.outputWriter()) {
            JSONObject order = new JSONObject().put("secret", HexFormat.of().formatHex(secret)).put("codecs", codecs.keySet());
            given.write(order + "\n");
            given.flush();
            int port = port(said);
            List<Sender> senders = new ArrayList<>();
            for (String codec : codecs.keySet()) {
                senders.add(new Sender(new Client(port, Line.frame(Line.SECRET, secret), codec, parameters.getString("transport"))));
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

    private static void measure(Answer answer, Turns<Sender> turns, long server) throws Exception {
        if (turns.paired()) {
            for (Turn<Sender> turn : turns.in(0)) {
                turn.codec().trial(server);
            }
        }
        for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
            List<Section> sections = new ArrayList<>();
            for (Turn<Sender> turn : turns.in(repetition)) {
                sections.add(turn.codec().trial(server).arm(turn.arm()));
            }
            answer.repetition(repetition, sections);
        }
    }

    /** One codec's trials with the server: the objects encoded before any of them, or as they are sent. */
    private final class Sender {
        private final Client client;
        private final Codec encoder;
        private final List<List<byte[]>> encoded = new ArrayList<>();

        Sender(Client client) throws Exception {
            this.client = client;
            encoder = Codec.of(client.codec());
            if (parameters.getString("encode").equals("before")) {
                for (List<Person> part : parts()) {
                    List<byte[]> documents = new ArrayList<>();
                    for (Person person : part) {
                        documents.add(encoder.encode(person));
                    }
                    encoded.add(documents);
                }
            }
        }

        Section trial(long server) throws Exception {
            List<Client.Objects> streams = streams();
            try (Client.Opened opened = client.open(streams.size())) {
                awaitIdle(server);
                Instant startedAt = Instant.now();
                long[] before = Proc.machine();
                long start = System.nanoTime();
                JSONObject report = client.trial(opened, streams, false);
                long duration = System.nanoTime() - start;
                List<Value> values = new ArrayList<>(Proc.machine(before, Proc.machine()));
                values.add(0, new Value("client", "wall_time", duration, "ns", "System.nanoTime", 1));
                report.getJSONArray("values").forEach(value -> values.add(Value.of((JSONObject) value)));
                return new Section("receive", startedAt, people.size(), values).codec(codecs.get(client.codec()), client.codec());
            }
        }

        /** Sends all once more and holds that the server decoded what was sent. */
        void check() throws Exception {
            List<Client.Objects> streams = streams();
            try (Client.Opened opened = client.open(streams.size())) {
                JSONObject report = client.trial(opened, streams, true);
                if (!report.getString("digest").equals(Long.toString(digest()))) {
                    throw new IllegalStateException("the objects that the server decoded are not those that were sent");
                }
            }
        }

        /** Returns each connection's objects, as its turn comes. */
        private List<Client.Objects> streams() {
            List<Client.Objects> streams = new ArrayList<>();
            for (List<byte[]> documents : encoded) {
                Iterator<byte[]> left = documents.iterator();
                streams.add(() -> left.hasNext() ? left.next() : null);
            }
            if (encoded.isEmpty()) {
                for (List<Person> part : parts()) {
                    Iterator<Person> left = part.iterator();
                    streams.add(() -> left.hasNext() ? encoder.encode(left.next()) : null);
                }
            }
            return streams;
        }
    }

    /** Returns each connection's people. */
    private List<List<Person>> parts() {
        int connections = parameters.getInt("connections");
        List<List<Person>> parts = new ArrayList<>();
        for (int first = 0; first < connections; first++) {
            List<Person> part = new ArrayList<>();
            for (int i = first; i < people.size(); i += connections) {
                part.add(people.get(i));
            }
            parts.add(part);
        }
        return parts;
    }

    private long digest() throws Exception {
        long sum = 0;
        for (Person person : people) {
            sum += Trial.fingerprint(person);
        }
        return sum;
    }

    private static Process start() throws IOException {
        String java = ProcessHandle.current().info().command().orElse("java");
        return new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), Server.class.getName())
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
