package org.benchbook.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Connections that have not said the server's secret, oldest first: few, not for long, and nothing of theirs is parsed. */
final class Strangers {
    /** How many may be open: twice as many as a trial opens at most. */
    private static final int CAP = 128;

    /** How long one may take to say it. */
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(5);

    private final byte[] greeting;
    private final Set<Socket> waiting = new LinkedHashSet<>();

    /** Lets in whoever begins with this frame. */
    Strangers(byte[] greeting) {
        this.greeting = greeting;
    }

    /** Counts a connection that was just accepted; when there are too many the oldest is dropped, never the newest. */
    synchronized void add(Socket connection) {
        waiting.add(connection);
        if (waiting.size() > CAP) {
            drop(1);
        }
    }

    /** Drops the older half: the process can open nothing more. */
    synchronized void dropHalf() {
        drop((waiting.size() + 1) / 2);
    }

    /** Returns whether a connection begins with the secret; no more than that is read. */
    boolean admit(Socket connection) throws IOException {
        try {
            return MessageDigest.isEqual(said(connection), greeting);
        } finally {
            forget(connection);
        }
    }

    private byte[] said(Socket connection) throws IOException {
        InputStream in = connection.getInputStream();
        byte[] said = new byte[greeting.length];
        long deadline = System.nanoTime() + PATIENCE_NS;
        for (int got = 0, more; got < said.length; got += more) {
            connection.setSoTimeout(Math.max(1, (int) TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            more = in.read(said, got, said.length - got);
            if (more < 0) {
                throw new IOException("it was cut before it said the secret");
            }
        }
        return said;
    }

    private synchronized void forget(Socket connection) {
        waiting.remove(connection);
    }

    private void drop(int count) {
        Iterator<Socket> oldest = waiting.iterator();
        for (int i = 0; i < count && oldest.hasNext(); i++) {
            try {
                oldest.next().close();
            } catch (IOException gone) {
                // it was closed already
            }
            oldest.remove();
        }
    }
}
