package org.benchbook.tcp;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.json.JSONException;
import org.json.JSONObject;

/** A connection that carries frames, as the Python language's: one byte of kind, four of length, the payload. */
final class Line implements AutoCloseable {
    static final int START = 1;
    static final int READY = 2;
    static final int JOIN = 3;
    static final int OBJECT = 4;
    static final int ACK = 5;
    static final int END = 6;
    static final int REPORT = 7;
    static final int ERROR = 8;
    static final int SECRET_BYTES = 16;
    static final int LIMIT = 1 << 20;
    static final int PATIENCE_MS = 60_000;
    private static final int HEADER = 5;

    /** What came; null stands for an orderly end. */
    record Frame(int kind, byte[] payload) {
        JSONObject fields() throws IOException {
            try {
                return new JSONObject(new String(payload, StandardCharsets.UTF_8));
            } catch (JSONException error) {
                throw new IOException("not a message: " + error.getMessage(), error);
            }
        }
    }

    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;

    Line(Socket socket) throws IOException {
        this.socket = socket;
        socket.setTcpNoDelay(true); // what is sent together is the transport's decision and not the kernel's
        socket.setSoTimeout(PATIENCE_MS);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 18));
        out = socket.getOutputStream();
    }

    /** Connects, and says the server's secret and what is to follow it in the same send. */
    static Line to(InetSocketAddress server, byte[] secret) throws IOException {
        Line line = new Line(new Socket(server.getAddress(), server.getPort()));
        line.send(secret);
        return line;
    }

    static byte[] frame(int kind, byte[] payload) {
        return ByteBuffer.allocate(HEADER + payload.length).put((byte) kind).putInt(payload.length).put(payload).array();
    }

    static byte[] message(int kind, JSONObject fields) {
        return frame(kind, fields.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** Returns frames to be sent at once. */
    static byte[] joined(byte[]... frames) {
        ByteBuffer all = ByteBuffer.allocate(Stream.of(frames).mapToInt(frame -> frame.length).sum());
        Stream.of(frames).forEach(all::put);
        return all.array();
    }

    void send(byte[] frames) throws IOException {
        out.write(frames);
    }

    Frame read() throws IOException {
        int kind = in.read();
        if (kind < 0) {
            return null;
        }
        try {
            int size = in.readInt();
            if (size < 0 || size > LIMIT) {
                throw new IOException("a frame of " + Integer.toUnsignedString(size) + " bytes is over the limit of " + LIMIT);
            }
            byte[] payload = new byte[size];
            in.readFully(payload);
            return new Frame(kind, payload);
        } catch (EOFException | SocketTimeoutException error) {
            throw new IOException("the connection was cut or fell silent inside a frame", error);
        }
    }

    /** Returns the next frame, which is of a kind; throws what the other side reports instead. */
    Frame expect(int kind) throws IOException {
        Frame frame = read();
        if (frame == null) {
            throw new IOException("the server closed the connection");
        }
        if (frame.kind() == ERROR) {
            throw new IOException(frame.fields().getString("what"));
        }
        if (frame.kind() != kind) {
            throw new IOException("the server answered with a frame of kind " + frame.kind() + ", not " + kind);
        }
        return frame;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
