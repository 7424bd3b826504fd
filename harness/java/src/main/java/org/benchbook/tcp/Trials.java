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
import java.util.List;
import java.util.stream.Stream;
import org.benchbook.Answer;
import org.benchbook.Proc;
import org.benchbook.Request;
import org.benchbook.Section;
import org.benchbook.Value;
import org.json.JSONObject;

/** Study tcp: objects sent to a server in a JVM of its own, whose clock runs from the start command to the end signal. */
public final class Trials {
    private static final long IDLE_WINDOW_MS = 250;
    private static final int IDLE_WINDOWS = 80;
    private static final int SECRET = 32;

    private final String codec;
    private final String format;
    private final String transport;
    private final int connections;
    private final boolean before;
    private final Path folder;
    private final List<Person> people = new ArrayList<>();

    public Trials(Request request) throws IOException {
        JSONObject parameters = request.parameters();
        codec = parameters.getString("codec");
        format = parameters.getString("format");
        transport = parameters.getString("transport");
        connections = parameters.getInt("connections");
        folder = request.folder();
        before = parameters.getString("encode").equals("before");
        try (Stream<String> lines = Files.lines(request.data(), StandardCharsets.UTF_8)) {
            lines.forEach(line -> people.add(Person.of(new JSONObject(line))));
        }
    }

    public void run(Answer answer) throws Exception {
        answer.driver(Codec.version(codec));
        byte[] secret = new byte[SECRET];
        new SecureRandom().nextBytes(secret);
        Process server = start();
        try (BufferedReader said = server.inputReader(); Writer given = server.outputWriter()) {
            given.write(new JSONObject().put("secret", HexFormat.of().formatHex(secret)).put("codec", codec) + "\n");
            given.flush();
            Client client = new Client(port(said), Line.frame(Line.SECRET, secret), transport);
            for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
                answer.repetition(repetition, List.of(trial(client, server.pid())));
            }
            check(client);
        } finally {
            server.destroyForcibly().waitFor();
        }
        Files.write(folder.resolve("last." + format), Codec.of(codec).encode(people.get(people.size() - 1)));
    }

    private Section trial(Client client, long server) throws Exception {
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
            return new Section("receive", startedAt, people.size(), values).codec(format, codec);
        }
    }

    /** Sends all once more and holds that the server decoded what was sent. */
    private void check(Client client) throws Exception {
        List<Client.Objects> streams = streams();
        try (Client.Opened opened = client.open(streams.size())) {
            JSONObject report = client.trial(opened, streams, true);
            if (!report.getString("digest").equals(Long.toString(digest()))) {
                throw new IllegalStateException("the objects that the server decoded are not those that were sent");
            }
        }
    }

    /** Returns each connection's objects. */
    private List<Client.Objects> streams() throws Exception {
        Codec encoder = Codec.of(codec);
        List<Client.Objects> streams = new ArrayList<>();
        for (int first = 0; first < connections; first++) {
            List<Person> part = new ArrayList<>();
            for (int i = first; i < people.size(); i += connections) {
                part.add(people.get(i));
            }
            streams.add(before ? encoded(part, encoder) : encoding(part, encoder));
        }
        return streams;
    }

    private static Client.Objects encoding(List<Person> part, Codec encoder) {
        Iterator<Person> left = part.iterator();
        return () -> left.hasNext() ? encoder.encode(left.next()) : null;
    }

    private static Client.Objects encoded(List<Person> part, Codec encoder) throws Exception {
        List<byte[]> documents = new ArrayList<>();
        for (Person person : part) {
            documents.add(encoder.encode(person));
        }
        Iterator<byte[]> left = documents.iterator();
        return () -> left.hasNext() ? left.next() : null;
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
            long[] then = Proc.cpu(pid);
            Thread.sleep(IDLE_WINDOW_MS);
            long[] now = Proc.cpu(pid);
            if (now[0] + now[1] == then[0] + then[1]) {
                return;
            }
        }
    }
}
