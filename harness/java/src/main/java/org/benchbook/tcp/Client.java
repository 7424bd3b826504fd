package org.benchbook.tcp;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.json.JSONObject;

/** The client's side of a trial, in the transports of the Python lane. */
record Client(int port, String codec, String transport) {
    private static final int BATCH = 1 << 16;

    /** Objects as the connection's turn comes: encoded then, or before. */
    interface Objects {
        byte[] next() throws Exception;
    }

    /** Sends each connection's objects and returns the server's report. */
    JSONObject trial(List<Objects> streams, boolean check) throws Exception {
        boolean acknowledge = transport.equals("acknowledged") || transport.equals("connection");
        try (Line control = Line.to(port)) {
            JSONObject order = new JSONObject().put("codec", codec).put("acknowledge", acknowledge).put("check", check);
            control.send(Line.message(Line.START, order));
            int number = control.expect(Line.READY).fields().getInt("trial");
            boolean joining = streams.size() > 1 || transport.equals("connection");
            long sent = joining ? inThreads(number, streams) : told(control, streams.get(0));
            control.send(Line.message(Line.END, new JSONObject().put("objects", sent)));
            return control.expect(Line.REPORT).fields();
        }
    }

    private long inThreads(int number, List<Objects> streams) throws Exception {
        byte[] join = Line.message(Line.JOIN, new JSONObject().put("trial", number));
        ExecutorService threads = Executors.newFixedThreadPool(streams.size());
        try {
            List<Future<Long>> parts = new ArrayList<>();
            streams.forEach(stream -> parts.add(threads.submit(() -> joined(join, stream))));
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

    private long joined(byte[] join, Objects objects) throws Exception {
        if (transport.equals("connection")) {
            return aConnectionEach(join, objects);
        }
        try (Line line = Line.to(port)) {
            line.send(join);
            return told(line, objects);
        }
    }

    private long aConnectionEach(byte[] join, Objects objects) throws Exception {
        long count = 0;
        for (byte[] data = objects.next(); data != null; data = objects.next()) {
            try (Line line = Line.to(port)) {
                line.send(join);
                line.send(Line.frame(Line.OBJECT, data));
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
