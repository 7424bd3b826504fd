package org.benchbook.tcp;

import java.beans.Encoder;
import java.beans.Expression;
import java.beans.PersistenceDelegate;
import java.beans.XMLDecoder;
import java.beans.XMLEncoder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.LocalDate;

/** The JDK's own XML for beans: a program of calls that rebuilds the object. Its documents are its own. */
final class Beans implements Codec {
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
        try (XMLDecoder decoder = new XMLDecoder(new ByteArrayInputStream(document))) {
            return (Person) decoder.readObject();
        }
    }
}
