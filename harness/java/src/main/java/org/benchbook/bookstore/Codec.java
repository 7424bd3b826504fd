package org.benchbook.bookstore;

import java.io.File;

/** An object to a file or bytes and back, as the library's users would call it. */
interface Codec {
    String name();

    String format();

    String version();

    Object write(Object bookstore, File file) throws Exception;

    Object read(File file) throws Exception;

    byte[] encode(Object bookstore) throws Exception;

    Object decode(byte[] document) throws Exception;
}
