package org.benchbook.bookstore;

import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Marshaller;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import org.benchbook.Versions;

/** JAXB's reference implementation, one context, formatted output; a marshaller a document, for they are cheap and no two threads may share one. */
final class Jaxb implements Codec {
    private final JAXBContext context;

    Jaxb(Class<?> type) throws JAXBException {
        context = JAXBContext.newInstance(type);
    }

    @Override
    public String name() {
        return "jaxb";
    }

    @Override
    public String format() {
        return "xml";
    }

    @Override
    public String version() {
        return "jaxb-runtime " + Versions.of("jaxb");
    }

    @Override
    public Object write(Object bookstore, File file) throws JAXBException {
        marshaller().marshal(bookstore, file);
        return null;
    }

    @Override
    public Object read(File file) throws JAXBException {
        return context.createUnmarshaller().unmarshal(file);
    }

    @Override
    public byte[] encode(Object bookstore) throws JAXBException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        marshaller().marshal(bookstore, bytes);
        return bytes.toByteArray();
    }

    @Override
    public Object decode(byte[] document) throws JAXBException {
        return context.createUnmarshaller().unmarshal(new ByteArrayInputStream(document));
    }

    private Marshaller marshaller() throws JAXBException {
        Marshaller marshaller = context.createMarshaller();
        marshaller.setProperty(Marshaller.JAXB_FORMATTED_OUTPUT, true);
        return marshaller;
    }
}
