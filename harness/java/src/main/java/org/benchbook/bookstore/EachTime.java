package org.benchbook.bookstore;

import java.io.File;
import java.util.concurrent.Callable;

/** A codec whose context or mapper is made inside every call, as code does that keeps none. */
record EachTime(String format, String name, Callable<Codec> made) implements Codec {
    @Override
    public String version() {
        try {
            return made.call().version();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Object write(Object bookstore, File file) throws Exception {
        return made.call().write(bookstore, file);
    }

    @Override
    public Object read(File file) throws Exception {
        return made.call().read(file);
    }

    @Override
    public byte[] encode(Object bookstore) throws Exception {
        return made.call().encode(bookstore);
    }

    @Override
    public Object decode(byte[] document) throws Exception {
        return made.call().decode(document);
    }
}
