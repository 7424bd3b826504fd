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

/** Encodes and decodes a person. All threads share one codec. */
interface Codec {
    byte[] encode(Person person) throws Exception;

    Person decode(byte[] document) throws Exception;

    /** Encodes a person outside the clock: the same bytes, by a faster way if there is one. */
    default byte[] prepare(Person person) throws Exception {
        return encode(person);
    }

    /** Returns a codec by its name. Each XML decoder could explain the paper's ratio. */
    static Codec make(String name) throws Exception {
        return switch (name) {
            case "jackson" -> new Jackson();
            case "jaxb" -> new Jaxb();
            case "jaxb_context" -> new JaxbContextEach();
            case "dom" -> new Dom();
            case "xmldecoder" -> new Beans();
            default -> throw new IllegalArgumentException("unknown codec " + name);
        };
    }

    /** Returns a codec's library with its version. */
    static String describeVersion(String name) {
        return switch (name) {
            case "jackson" -> "jackson " + Versions.find("jackson");
            case "jaxb", "jaxb_context" -> "jaxb-runtime " + Versions.find("jaxb");
            default -> "java.xml and java.desktop " + System.getProperty("java.version");
        };
    }

    /** Jackson's databind: one mapper. */
    final class Jackson implements Codec {
        private final ObjectMapper mapper = new ObjectMapper()
                .registerModule(new JavaTimeModule())
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);

        @Override
        public byte[] encode(Person person) throws Exception {
            return mapper.writeValueAsBytes(person);
        }

        @Override
        public Person decode(byte[] document) throws Exception {
            return mapper.readValue(document, Person.class);
        }
    }

    /** JAXB: one context, and a new marshaller or unmarshaller for each object. */
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
            ByteArrayInputStream bytes = new ByteArrayInputStream(document);
            return (Person) context.createUnmarshaller().unmarshal(bytes);
        }
    }

    /** JAXB with a new context for each object, as in code that keeps none. */
    final class JaxbContextEach extends Jaxb {
        JaxbContextEach() throws JAXBException {}

        @Override
        public Person decode(byte[] document) throws Exception {
            JAXBContext context = JAXBContext.newInstance(Person.class);
            ByteArrayInputStream bytes = new ByteArrayInputStream(document);
            return (Person) context.createUnmarshaller().unmarshal(bytes);
        }
    }
}
