package org.benchbook.tcp;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchbook.tcp.Line.Frame;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The multi-threaded server: a thread a connection, decoding on receipt and discarding.
 *
 * <p>The first line of its standard input is the secret that each connection must say first, and the codecs of all that it
 * will decode, in JSON; they are made before the first trial, whose clock so holds none. It ends with its standard input.
 */
public final class Server {
    private final Map<String, Codec> codecs = new HashMap<>();
    private final byte[] secret;
    private final Map<Integer, Trial> trials = new ConcurrentHashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();

    private Server(JSONObject order) throws Exception {
        for (Object name : order.getJSONArray("codecs")) {
            codecs.put((String) name, Codec.of((String) name));
        }
        secret = HexFormat.of().parseHex(order.getString("secret"));
    }

    /** Listens on a free port of the address that its order names, or of the loopback, and prints which. */
    public static void main(String[] arguments) throws Exception {
        BufferedReader owner = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        JSONObject order = new JSONObject(owner.readLine());
        Server server = new Server(order);
        daemon(() -> await(owner));
        try (ServerSocket socket = new ServerSocket(0, 1024, InetAddress.getByName(order.optString("address", "127.0.0.1")))) {
            System.out.println(socket.getLocalPort());
            while (true) {
                Socket connection = socket.accept();
                daemon(() -> server.attend(connection));
            }
        }
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private static void await(BufferedReader owner) {
        try {
            owner.read();
        } catch (IOException gone) {
            // as good as its end
        }
        Runtime.getRuntime().halt(0);
    }

    private void attend(Socket connection) {
        try (connection) {
            connection.setSoTimeout(Line.PATIENCE_MS);
            if (MessageDigest.isEqual(connection.getInputStream().readNBytes(secret.length), secret)) {
                talk(new Line(connection));
            }
        } catch (IOException gone) {
            // the client went away, or is none: nobody is to be told
        }
    }

    private void talk(Line line) throws IOException {
        try {
            for (Frame frame = line.read(); frame != null; frame = line.read()) {
                converse(line, frame);
            }
        } catch (IOException error) {
            line.send(Line.message(Line.ERROR, new JSONObject().put("what", String.valueOf(error.getMessage()))));
        }
    }

    private void converse(Line line, Frame first) throws IOException {
        if (first.kind() == Line.START) {
            control(line, first.fields());
        } else if (first.kind() == Line.JOIN) {
            Trial trial = trials.get(first.fields().optInt("trial"));
            if (trial == null) {
                throw new IOException("there is no such trial to join");
            }
            trial.join();
            if (receive(line, trial) != null) {
                throw new IOException("only objects come on a connection that has joined");
            }
        } else {
            throw new IOException("a trial is started or joined first; a frame of kind " + first.kind() + " came");
        }
    }

    private void control(Line line, JSONObject order) throws IOException {
        int number = numbers.incrementAndGet();
        try {
            Trial trial = new Trial(codecs, order);
            trials.put(number, trial);
            line.send(Line.message(Line.READY, new JSONObject().put("trial", number)));
            Frame last = receive(line, trial);
            if (last == null) {
                return;
            }
            if (last.kind() != Line.END) {
                throw new IOException("objects and the end signal are expected; a frame of kind " + last.kind() + " came");
            }
            line.send(Line.message(Line.REPORT, trial.finish(last.fields().getLong("objects"))));
        } catch (IOException error) {
            throw error;
        } catch (JSONException error) {
            throw new IOException("not a message of this protocol: " + error.getMessage(), error);
        } catch (Exception error) {
            throw new IOException(error.toString(), error);
        } finally {
            trials.remove(number);
        }
    }

    /** Decodes objects until something else comes, and returns that. */
    private static Frame receive(Line line, Trial trial) throws IOException {
        long count = 0;
        try {
            while (true) {
                Frame frame = line.read();
                if (frame == null || frame.kind() != Line.OBJECT) {
                    return frame;
                }
                trial.take(frame.payload());
                count++;
                if (trial.acknowledge) {
                    line.send(Line.frame(Line.ACK, new byte[0]));
                }
            }
        } catch (IOException error) {
            IOException told = new IOException("object " + count + ": " + error.getMessage(), error);
            trial.fail(told);
            throw told;
        } finally {
            trial.add(count);
        }
    }
}
