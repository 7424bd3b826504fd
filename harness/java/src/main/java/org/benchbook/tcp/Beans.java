package org.benchbook.tcp;

import java.beans.Encoder;
import java.beans.Expression;
import java.beans.PersistenceDelegate;
import java.beans.XMLDecoder;
import java.beans.XMLEncoder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The JDK's own XML for beans: a program of calls that rebuilds the object. Its documents are its own.
 *
 * <p>A document may call any method of any class that its decoder can reach. So the decoder's loader knows a person's types
 * alone; and, since every object leads to its class and from there to all others, a document that holds another tag than
 * those of a person is not decoded.
 */
final class Beans implements Codec {
    private static final Set<String> TYPES =
            Set.of(XMLDecoder.class.getName(), Person.class.getName(), LocalDate.class.getName());
    private static final ClassLoader LOADER = new ClassLoader(Beans.class.getClassLoader()) {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!TYPES.contains(name)) { // no ClassNotFoundException: the decoder would go on to ask other loaders
                throw new NoClassDefFoundError(name + " is not a type of the study");
            }
            return super.loadClass(name, resolve);
        }
    };

    /** What a document begins with, which fixes its encoding: a < is then that byte and no other. */
    private static final String DECLARATION = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

    private static final List<String> PROPERTIES = List.of(
            "id", "name", "email", "phone", "street", "city", "country", "bornOn", "age", "height", "children", "active");

    private static final Set<String> TAGS = tags();

    private static final PersistenceDelegate DATES = new PersistenceDelegate() {
        @Override
        protected Expression instantiate(Object date, Encoder out) {
            return new Expression(date, LocalDate.class, "parse", new Object[] {date.toString()});
        }
    };

    @Override
    public byte[] encode(Person person) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(2048);
        try (XMLEncoder encoder = new XMLEncoder(bytes)) {
            encoder.setPersistenceDelegate(LocalDate.class, DATES);
            encoder.writeObject(person);
        }
        return bytes.toByteArray();
    }

    @Override
    public Person decode(byte[] document) {
        check(document);
        try (XMLDecoder decoder = new XMLDecoder(new ByteArrayInputStream(document), null, null, LOADER)) {
            return (Person) decoder.readObject();
        }
    }

    private static void check(byte[] document) {
        String text = new String(document, StandardCharsets.ISO_8859_1); // a byte a character, and the fastest to search
        if (!text.startsWith(DECLARATION)) {
            throw new IllegalArgumentException("a person's document begins with " + DECLARATION);
        }
        for (int at = text.indexOf('<', 1); at >= 0; at = text.indexOf('<', at + 1)) {
            if (text.startsWith("/", at + 1)) {
                continue; // the parser holds it against what it ends
            }
            String tag = text.substring(at, text.indexOf('>', at) + 1);
            if (!TAGS.contains(tag)) {
                throw new IllegalArgumentException("a person's document holds no " + tag);
            }
        }
    }

    private static Set<String> tags() {
        Set<String> tags = new HashSet<>(List.of("<string>", "<int>", "<double>", "<boolean>"));
        tags.add("<java version=\"" + System.getProperty("java.version") + "\" class=\"java.beans.XMLDecoder\">");
        tags.add("<object class=\"" + Person.class.getName() + "\">");
        tags.add("<object class=\"java.time.LocalDate\" method=\"parse\">");
        PROPERTIES.forEach(property -> tags.add("<void property=\"" + property + "\">"));
        return tags;
    }
}
