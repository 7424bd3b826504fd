package org.benchbook.tcp;

import jakarta.xml.bind.JAXBException;
import java.io.ByteArrayInputStream;
import java.time.LocalDate;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/** DOM: a tree of the document, with a new factory for each object, then field by field. */
final class Dom extends Codec.Jaxb {
    Dom() throws JAXBException {}

    @Override
    public Person decode(byte[] document) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        ByteArrayInputStream bytes = new ByteArrayInputStream(document);
        Element root = factory.newDocumentBuilder().parse(bytes).getDocumentElement();
        Person person = new Person();
        person.setId(readText(root, "_id"));
        person.setName(readText(root, "name"));
        person.setEmail(readText(root, "email"));
        person.setPhone(readText(root, "phone"));
        person.setStreet(readText(root, "street"));
        person.setCity(readText(root, "city"));
        person.setCountry(readText(root, "country"));
        person.setBornOn(LocalDate.parse(readText(root, "born_on")));
        person.setAge(Integer.parseInt(readText(root, "age")));
        person.setHeight(Double.parseDouble(readText(root, "height")));
        person.setChildren(Integer.parseInt(readText(root, "children")));
        person.setActive(Boolean.parseBoolean(readText(root, "active")));
        return person;
    }

    private static String readText(Element root, String name) {
        return root.getElementsByTagName(name).item(0).getTextContent();
    }
}
