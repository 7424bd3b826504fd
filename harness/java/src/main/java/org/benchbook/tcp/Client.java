package org.benchbook.tcp;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.json.JSONObject;

/**
 * The client's side of a trial, with the same transports as in Python.
 *
 * <p>Each connection begins with the secret.
 */
record Client(InetSocketAddress server, byte[] secret, String codec, String transport) {
    private static final int BATCH_BYTES = 1 << 16;

    /** The encoded objects of one connection. */
    interface Objects {
        /** Returns the next object; null after the last. */
        byte[] next() throws Exception;
    }

    /** A trial's connections, which are open before its clock starts; the first controls it. */
    record Connections(List<Line> lines) implements AutoCloseable {
        @Override
        public void close() throws IOException {
            for (Line line : lines) {
                line.close();
            }
        }
    }

    /** Opens a trial's connections. With one per object, the trial itself opens those. */
    Connections open(int streams) throws IOException {
        int joining = 0;
        if (streams > 1 && !transport.equals("connection")) {
            joining = streams;
        }
        List<Line> lines = new ArrayList<>();
        for (int i = 0; i <= joining; i++) {
            lines.add(Line.connect(server, secret));
        }
        return new Connections(lines);
    }

    /** Sends each connection's objects and returns the server's report. */
    JSONObject runTrial(Connections connections, List<Objects> streams, boolean check)
            throws Exception {
        boolean acknowledge = transport.equals("acknowledged") || transport.equals("connection");
        Line control = connections.lines().get(0);
        JSONObject order = new JSONObject()
                .put("codec", codec)
                .put("acknowledge", acknowledge)
                .put("check", check);
        control.send(Line.makeMessage(Line.START, order));
        int number = control.expect(Line.READY).parseFields().getInt("trial");
        byte[] join = Line.makeMessage(Line.JOIN, new JSONObject().put("trial", number));
        long sent;
        if (streams.size() > 1 || transport.equals("connection")) {
            sent = sendInThreads(join, connections.lines(), streams);
        } else {
            sent = sendObjects(control, streams.get(0));
        }
        control.send(Line.makeMessage(Line.END, new JSONObject().put("objects", sent)));
        return control.expect(Line.REPORT).parseFields();
    }

    private long sendInThreads(byte[] join, List<Line> lines, List<Objects> streams)
            throws Exception {
        List<Callable<Long>> tasks = new ArrayList<>();
        for (int i = 0; i < streams.size(); i++) {
            Objects stream = streams.get(i);
            if (transport.equals("connection")) {
                tasks.add(() -> sendOverNewConnections(join, stream));
            } else {
                Line line = lines.get(1 + i);
                tasks.add(() -> joinAndSend(line, join, stream));
            }
        }
        return Threads.sum(tasks);
    }

    private long joinAndSend(Line line, byte[] join, Objects objects) throws Exception {
        // The server counts the objects when the connection is closed.
        try (line) {
            line.send(join);
            return sendObjects(line, objects);
        }
    }

    private long sendOverNewConnections(byte[] join, Objects objects) throws Exception {
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            byte[] all = Line.concatenate(secret, join, Line.makeFrame(Line.OBJECT, data));
            try (Line line = Line.connect(server, all)) {
                line.expect(Line.ACK);
            }
            count++;
        }
        return count;
    }

    /** Sends objects; if the connection breaks, throws the server's error, if there is one. */
    private long sendObjects(Line line, Objects objects) throws Exception {
        try {
            if (transport.equals("batched")) {
                return sendBatches(line, objects);
            }
            return sendFrames(line, objects);
        } catch (IOException error) {
            line.expect(Line.ERROR);
            throw error;
        }
    }

    private long sendFrames(Line line, Objects objects) throws Exception {
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            line.send(Line.makeFrame(Line.OBJECT, data));
            if (transport.equals("acknowledged")) {
                line.expect(Line.ACK);
            }
            count++;
        }
        return count;
    }

    private static long sendBatches(Line line, Objects objects) throws Exception {
        ByteArrayOutputStream batch = new ByteArrayOutputStream(BATCH_BYTES * 2);
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            batch.write(Line.makeFrame(Line.OBJECT, data));
            count++;
            if (batch.size() >= BATCH_BYTES) {
                line.send(batch.toByteArray());
                batch.reset();
            }
        }
        line.send(batch.toByteArray());
        return count;
    }
}
