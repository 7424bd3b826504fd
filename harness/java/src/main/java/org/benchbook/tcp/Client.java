package org.benchbook.tcp;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.json.JSONObject;

/** The client's side of a trial, in the transports of the Python language; each connection begins with the secret. */
record Client(InetSocketAddress server, byte[] secret, String codec, String transport) {
    private static final int BATCH = 1 << 16;

    /** Objects as the connection's turn comes: encoded then, or before. */
    interface Objects {
        byte[] next() throws Exception;
    }

    /** The connections of a trial, which are open and admitted before its clock starts; the first one controls it. */
    record Opened(List<Line> lines) implements AutoCloseable {
        @Override
        public void close() throws IOException {
            for (Line line : lines) {
                line.close();
            }
        }
    }

    /** Opens what a trial of so many streams needs; a connection an object is opened by the trial itself. */
    Opened open(int streams) throws IOException {
        int joining = streams > 1 && !transport.equals("connection") ? streams : 0;
        List<Line> lines = new ArrayList<>();
        for (int i = 0; i <= joining; i++) {
            lines.add(Line.to(server, secret));
        }
        return new Opened(lines);
    }

    /** Sends each connection's objects and returns the server's report. */
    JSONObject trial(Opened opened, List<Objects> streams, boolean check) throws Exception {
        boolean acknowledge = transport.equals("acknowledged") || transport.equals("connection");
        Line control = opened.lines().get(0);
        JSONObject order = new JSONObject().put("codec", codec).put("acknowledge", acknowledge).put("check", check);
        control.send(Line.message(Line.START, order));
        byte[] join = Line.message(Line.JOIN, new JSONObject().put("trial", control.expect(Line.READY).fields().getInt("trial")));
        boolean joining = streams.size() > 1 || transport.equals("connection");
        long sent = joining ? inThreads(join, opened.lines(), streams) : told(control, streams.get(0));
        control.send(Line.message(Line.END, new JSONObject().put("objects", sent)));
        return control.expect(Line.REPORT).fields();
    }

    private long inThreads(byte[] join, List<Line> lines, List<Objects> streams) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(streams.size());
        try {
            List<Future<Long>> parts = new ArrayList<>();
            for (int i = 0; i < streams.size(); i++) {
                Objects stream = streams.get(i);
                Line line = transport.equals("connection") ? null : lines.get(1 + i);
                parts.add(threads.submit(() -> line == null ? aConnectionEach(join, stream) : joined(line, join, stream)));
            }
            long sent = 0;
            for (Future<Long> part : parts) {
                sent += part.get();
            }
            return sent;
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            threads.shutdownNow();
        }
    }

    private long joined(Line line, byte[] join, Objects objects) throws Exception {
        try (line) { // the server counts what it has brought when it is closed
            line.send(join);
            return told(line, objects);
        }
    }

    private long aConnectionEach(byte[] join, Objects objects) throws Exception {
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            try (Line line = Line.to(server, Line.joined(secret, join, Line.frame(Line.OBJECT, data)))) {
                line.expect(Line.ACK);
            }
            count++;
        }
        return count;
    }

    /** Sends objects; when the connection breaks, throws what the server had to say, if anything. */
    private long told(Line line, Objects objects) throws Exception {
        try {
            return transport.equals("batched") ? batched(line, objects) : framed(line, objects);
        } catch (IOException error) {
            line.expect(Line.ERROR);
            throw error;
        }
    }

    private long framed(Line line, Objects objects) throws Exception {
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            line.send(Line.frame(Line.OBJECT, data));
            if (transport.equals("acknowledged")) {
                line.expect(Line.ACK);
            }
            count++;
        }
        return count;
    }

    private static long batched(Line line, Objects objects) throws Exception {
        ByteArrayOutputStream batch = new ByteArrayOutputStream(BATCH * 2);
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            batch.write(Line.frame(Line.OBJECT, data));
            count++;
            if (batch.size() >= BATCH) {
                line.send(batch.toByteArray());
                batch.reset();
            }
        }
        line.send(batch.toByteArray());
        return count;
    }
}
