package org.benchbook.bookstore;

import java.io.File;

/** Writes an object to a file or bytes, and reads it, as the library's users call it. */
interface Codec {
    /** Writes a file. */
    Object write(Object bookstore, File file) throws Exception;

    Object read(File file) throws Exception;

    byte[] encode(Object bookstore) throws Exception;

    Object decode(byte[] document) throws Exception;
}
