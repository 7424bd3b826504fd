package org.benchbook.bookstore;

import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Marshaller;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;

/**
 * JAXB's reference implementation: one context, formatted output.
 *
 * <p>Each document has a new marshaller. They are cheap, and two threads must not share one.
 */
final class Jaxb implements Codec {
    private final JAXBContext context;

    Jaxb(Class<?> type) throws JAXBException {
        context = JAXBContext.newInstance(type);
    }

    @Override
    public Object write(Object bookstore, File file) throws JAXBException {
        makeMarshaller().marshal(bookstore, file);
        return null;
    }

    @Override
    public Object read(File file) throws JAXBException {
        return context.createUnmarshaller().unmarshal(file);
    }

    @Override
    public byte[] encode(Object bookstore) throws JAXBException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        makeMarshaller().marshal(bookstore, bytes);
        return bytes.toByteArray();
    }

    @Override
    public Object decode(byte[] document) throws JAXBException {
        return context.createUnmarshaller().unmarshal(new ByteArrayInputStream(document));
    }

    private Marshaller makeMarshaller() throws JAXBException {
        Marshaller marshaller = context.createMarshaller();
        marshaller.setProperty(Marshaller.JAXB_FORMATTED_OUTPUT, true);
        return marshaller;
    }
}
