package org.benchbook.tcp;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Marshaller;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import org.benchbook.Versions;

/** A person to bytes and back. One is shared by all threads. */
interface Codec {
    byte[] encode(Person person) throws Exception;

    Person decode(byte[] document) throws Exception;

    /** Returns the codec of a name: one for JSON, and those ways to read XML that could explain the paper's ratio. */
    static Codec of(String name) throws Exception {
        return switch (name) {
            case "jackson" -> new Jackson();
            case "jaxb" -> new Jaxb();
            case "jaxb_context" -> new ContextEach();
            case "dom" -> new Dom();
            case "xmldecoder" -> new Beans();
            default -> throw new IllegalArgumentException("no codec " + name + " on this language");
        };
    }

    static String version(String name) {
        return switch (name) {
            case "jackson" -> "jackson " + Versions.of("jackson");
            case "jaxb", "jaxb_context" -> "jaxb-runtime " + Versions.of("jaxb");
            default -> "java.xml and java.desktop " + System.getProperty("java.version");
        };
    }

    /** Jackson's databind, one mapper. */
    final class Jackson implements Codec {
        private final ObjectMapper mapper =
                new ObjectMapper().registerModule(new JavaTimeModule()).disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);

        @Override
        public byte[] encode(Person person) throws Exception {
            return mapper.writeValueAsBytes(person);
        }

        @Override
        public Person decode(byte[] document) throws Exception {
            return mapper.readValue(document, Person.class);
        }
    }

    /** JAXB with one context, and a new marshaller or unmarshaller an object. */
    class Jaxb implements Codec {
        private final JAXBContext context = JAXBContext.newInstance(Person.class);

        Jaxb() throws JAXBException {}

        @Override
        public final byte[] encode(Person person) throws Exception {
            Marshaller marshaller = context.createMarshaller();
            marshaller.setProperty(Marshaller.JAXB_FRAGMENT, true);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
            marshaller.marshal(person, bytes);
            return bytes.toByteArray();
        }

        @Override
        public Person decode(byte[] document) throws Exception {
            return (Person) context.createUnmarshaller().unmarshal(new ByteArrayInputStream(document));
        }
    }

    /** JAXB with a new context an object, as code does that keeps none. */
    final class ContextEach extends Jaxb {
        ContextEach() throws JAXBException {}

        @Override
        public Person decode(byte[] document) throws Exception {
            JAXBContext context = JAXBContext.newInstance(Person.class);
            return (Person) context.createUnmarshaller().unmarshal(new ByteArrayInputStream(document));
        }
    }
}
