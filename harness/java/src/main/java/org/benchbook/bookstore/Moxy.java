package org.benchbook.bookstore;

import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.util.Map;
import javax.xml.transform.stream.StreamSource;
import org.eclipse.persistence.jaxb.JAXBContextFactory;

/**
 * JSON by JAXB's binding, which EclipseLink MOXy implements: one context, compact output.
 *
 * <p>Each document has a new marshaller.
 */
final class Moxy implements Codec {
    private static final Map<String, Object> JSON = Map.of(
            "eclipselink.media-type", "application/json", "eclipselink.json.include-root", false);

    private final JAXBContext context;
    private final Class<?> type;

    Moxy(Class<?> type) throws JAXBException {
        this.type = type;
        context = JAXBContextFactory.createContext(new Class<?>[] {type}, JSON);
    }

    @Override
    public Object write(Object bookstore, File file) throws JAXBException {
        context.createMarshaller().marshal(bookstore, file);
        return null;
    }

    @Override
    public Object read(File file) throws JAXBException {
        return read(new StreamSource(file));
    }

    @Override
    public byte[] encode(Object bookstore) throws JAXBException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        context.createMarshaller().marshal(bookstore, bytes);
        return bytes.toByteArray();
    }

    @Override
    public Object decode(byte[] document) throws JAXBException {
        return read(new StreamSource(new ByteArrayInputStream(document)));
    }

    private Object read(StreamSource document) throws JAXBException {
        return context.createUnmarshaller().unmarshal(document, type).getValue();
    }
}
