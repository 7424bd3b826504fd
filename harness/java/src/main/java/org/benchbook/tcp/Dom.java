package org.benchbook.tcp;

import jakarta.xml.bind.JAXBException;
import java.io.ByteArrayInputStream;
import java.time.LocalDate;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/** A tree of the document by a new factory an object, then field by field. */
final class Dom extends Codec.Jaxb {
    Dom() throws JAXBException {}

    @Override
    public Person decode(byte[] document) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        Element root = factory.newDocumentBuilder().parse(new ByteArrayInputStream(document)).getDocumentElement();
        Person person = new Person();
        person.setId(text(root, "_id"));
        person.setName(text(root, "name"));
        person.setEmail(text(root, "email"));
        person.setPhone(text(root, "phone"));
        person.setStreet(text(root, "street"));
        person.setCity(text(root, "city"));
        person.setCountry(text(root, "country"));
        person.setBornOn(LocalDate.parse(text(root, "born_on")));
        person.setAge(Integer.parseInt(text(root, "age")));
        person.setHeight(Double.parseDouble(text(root, "height")));
        person.setChildren(Integer.parseInt(text(root, "children")));
        person.setActive(Boolean.parseBoolean(text(root, "active")));
        return person;
    }

    private static String text(Element root, String name) {
        return root.getElementsByTagName(name).item(0).getTextContent();
    }
}
