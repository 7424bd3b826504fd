package org.benchbook.bookstore;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;

/** Jackson's databind: one mapper, compact output. */
final class Jackson implements Codec {
    private final ObjectMapper mapper = new ObjectMapper();
    private final Class<?> type;

    Jackson(Class<?> type) {
        this.type = type;
    }

    @Override
    public Object write(Object bookstore, File file) throws IOException {
        mapper.writeValue(file, bookstore);
        return null;
    }

    @Override
    public Object read(File file) throws IOException {
        return mapper.readValue(file, type);
    }

    @Override
    public byte[] encode(Object bookstore) throws IOException {
        return mapper.writeValueAsBytes(bookstore);
    }

    @Override
    public Object decode(byte[] document) throws IOException {
        return mapper.readValue(document, type);
    }
}
