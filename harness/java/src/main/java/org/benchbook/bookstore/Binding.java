package org.benchbook.bookstore;

import java.io.File;
import java.util.concurrent.Callable;
import org.benchbook.Versions;

/**
 * A codec that makes its context or mapper inside a call, and so inside the clock.
 *
 * <p>It makes one at its first use, or with `binding: each` a new one in every call. Until then it
 * loads no class of its library.
 */
final class Binding implements Codec {
    private final String format;
    private final String name;
    private final boolean each;
    private final Callable<Codec> maker;
    private Codec codec;

    Binding(String format, String name, boolean each, Callable<Codec> maker) {
        this.format = format;
        this.name = name;
        this.each = each;
        this.maker = maker;
    }

    String format() {
        return format;
    }

    String name() {
        return name;
    }

    /** Returns the library with its version. */
    String version() {
        String library = name.equals("jaxb") ? "jaxb-runtime" : name;
        return library + " " + Versions.find(name);
    }

    @Override
    public Object write(Object bookstore, File file) throws Exception {
        return bind().write(bookstore, file);
    }

    @Override
    public Object read(File file) throws Exception {
        return bind().read(file);
    }

    @Override
    public byte[] encode(Object bookstore) throws Exception {
        return bind().encode(bookstore);
    }

    @Override
    public Object decode(byte[] document) throws Exception {
        return bind().decode(document);
    }

    private Codec bind() throws Exception {
        if (each || codec == null) {
            codec = maker.call();
        }
        return codec;
    }
}
