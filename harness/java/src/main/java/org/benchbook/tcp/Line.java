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

/**
 * A connection that carries frames: one byte of kind, four of length, and the payload.
 *
 * <p>Python's protocol has the same frames.
 */
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
    static final int MAX_PAYLOAD_BYTES = 1 << 20;
    static final int TIMEOUT_MS = 60_000;
    private static final int HEADER_BYTES = 5;
    private static final int BUFFER_BYTES = 1 << 18;

    /** A received frame. */
    record Frame(int kind, byte[] payload) {
        JSONObject parseFields() throws IOException {
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
        // The transport decides what is sent together, not the kernel.
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(TIMEOUT_MS);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER_BYTES));
        out = socket.getOutputStream();
    }

    /** Connects, and sends the server's secret and what may follow it in the same send. */
    static Line connect(InetSocketAddress server, byte[] secret) throws IOException {
        Line line = new Line(new Socket(server.getAddress(), server.getPort()));
        line.send(secret);
        return line;
    }

    static byte[] makeFrame(int kind, byte[] payload) {
        return ByteBuffer.allocate(HEADER_BYTES + payload.length)
                .put((byte) kind)
                .putInt(payload.length)
                .put(payload)
                .array();
    }

    static byte[] makeMessage(int kind, JSONObject fields) {
        return makeFrame(kind, fields.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** Returns frames as one array, to be sent at once. */
    static byte[] concatenate(byte[]... frames) {
        int size = Stream.of(frames).mapToInt(frame -> frame.length).sum();
        ByteBuffer all = ByteBuffer.allocate(size);
        Stream.of(frames).forEach(all::put);
        return all.array();
    }

    void send(byte[] frames) throws IOException {
        out.write(frames);
    }

    /** Returns the next frame; null when the other side has closed the connection in order. */
    Frame read() throws IOException {
        int kind = in.read();
        if (kind < 0) {
            return null;
        }
        try {
            int size = in.readInt();
            if (size < 0 || size > MAX_PAYLOAD_BYTES) {
                String bytes = Integer.toUnsignedString(size);
                String limit = " bytes is over the limit of " + MAX_PAYLOAD_BYTES;
                throw new IOException("a frame of " + bytes + limit);
            }
            byte[] payload = new byte[size];
            in.readFully(payload);
            return new Frame(kind, payload);
        } catch (EOFException | SocketTimeoutException error) {
            throw new IOException("the connection was cut or fell silent inside a frame", error);
        }
    }

    /** Returns the next frame, which must have a kind; throws the error that the server reports. */
    Frame expect(int kind) throws IOException {
        Frame frame = read();
        if (frame == null) {
            throw new IOException("the server closed the connection");
        }
        if (frame.kind() == ERROR) {
            throw new IOException(frame.parseFields().getString("what"));
        }
        if (frame.kind() != kind) {
            String answer = "the server answered with a frame of kind ";
            throw new IOException(answer + frame.kind() + ", not " + kind);
        }
        return frame;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
