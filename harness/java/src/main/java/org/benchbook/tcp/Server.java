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
 * The multi-threaded server: a thread per connection decodes each object and discards it.
 *
 * <p>The first line of its standard input is JSON with the secret of all connections and the names
 * of the codecs. They are made before the first trial, so that no clock includes it. The server
 * ends when its standard input does.
 */
public final class Server {
    private static final int BACKLOG = 1024;

    private final Map<String, Codec> codecs = new HashMap<>();
    private final byte[] secret;
    private final Map<Integer, Trial> trials = new ConcurrentHashMap<>();
    private final AtomicInteger lastNumber = new AtomicInteger();

    private Server(JSONObject order) throws Exception {
        for (Object name : order.getJSONArray("codecs")) {
            codecs.put((String) name, Codec.make((String) name));
        }
        secret = HexFormat.of().parseHex(order.getString("secret"));
    }

    /** Listens on a free port of its address, by default the loopback's, and prints the port. */
    public static void main(String[] arguments) throws Exception {
        BufferedReader owner =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        JSONObject order = new JSONObject(owner.readLine());
        Server server = new Server(order);
        startDaemon(() -> endWith(owner));
        InetAddress address = InetAddress.getByName(order.optString("address", "127.0.0.1"));
        try (ServerSocket socket = new ServerSocket(0, BACKLOG, address)) {
            System.out.println(socket.getLocalPort());
            while (true) {
                Socket connection = socket.accept();
                startDaemon(() -> server.serve(connection));
            }
        }
    }

    private static void startDaemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private static void endWith(BufferedReader owner) {
        try {
            owner.read();
        } catch (IOException ended) {
            // A broken input is the end, too.
        }
        Runtime.getRuntime().halt(0);
    }

    private void serve(Socket connection) {
        try (connection) {
            connection.setSoTimeout(Line.TIMEOUT_MS);
            byte[] received = connection.getInputStream().readNBytes(secret.length);
            if (MessageDigest.isEqual(received, secret)) {
                answerFrames(new Line(connection));
            }
        } catch (IOException ended) {
            // The client has gone, or is not ours: no answer is needed.
        }
    }

    private void answerFrames(Line line) throws IOException {
        try {
            for (Frame frame = line.read(); frame != null; frame = line.read()) {
                answerFrame(line, frame);
            }
        } catch (IOException error) {
            JSONObject reason = new JSONObject().put("what", String.valueOf(error.getMessage()));
            line.send(Line.makeMessage(Line.ERROR, reason));
        }
    }

    private void answerFrame(Line line, Frame first) throws IOException {
        if (first.kind() == Line.START) {
            runTrial(line, first.parseFields());
        } else if (first.kind() == Line.JOIN) {
            Trial trial = trials.get(first.parseFields().optInt("trial"));
            if (trial == null) {
                throw new IOException("there is no such trial to join");
            }
            trial.join();
            if (receiveObjects(line, trial) != null) {
                throw new IOException("a connection that has joined a trial sends objects only");
            }
        } else {
            String reason = "a trial is started or joined first; a frame of kind ";
            throw new IOException(reason + first.kind() + " came");
        }
    }

    private void runTrial(Line line, JSONObject order) throws IOException {
        int number = lastNumber.incrementAndGet();
        try {
            Trial trial = new Trial(codecs, order);
            trials.put(number, trial);
            line.send(Line.makeMessage(Line.READY, new JSONObject().put("trial", number)));
            Frame last = receiveObjects(line, trial);
            if (last == null) {
                return;
            }
            if (last.kind() != Line.END) {
                String reason = "objects and the end signal are expected; a frame of kind ";
                throw new IOException(reason + last.kind() + " came");
            }
            long objects = last.parseFields().getLong("objects");
            line.send(Line.makeMessage(Line.REPORT, trial.finish(objects)));
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

    /** Decodes objects until another frame comes, and returns that. */
    private static Frame receiveObjects(Line line, Trial trial) throws IOException {
        long count = 0;
        try {
            while (true) {
                Frame frame = line.read();
                if (frame == null || frame.kind() != Line.OBJECT) {
                    return frame;
                }
                trial.decode(frame.payload());
                count++;
                if (trial.acknowledge) {
                    line.send(Line.makeFrame(Line.ACK, new byte[0]));
                }
            }
        } catch (IOException error) {
            IOException failure =
                    new IOException("object " + count + ": " + error.getMessage(), error);
            trial.fail(failure);
            throw failure;
        } finally {
            trial.add(count);
        }
    }
}
