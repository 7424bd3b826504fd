package org.benchbook.tcp;

import jakarta.xml.bind.annotation.adapters.XmlAdapter;
import java.time.LocalDate;

/** Writes and reads dates in XML, as 1973-12-14. */
final class Dates extends XmlAdapter<String, LocalDate> {
    @Override
    public LocalDate unmarshal(String text) {
        return LocalDate.parse(text);
    }

    @Override
    public String marshal(LocalDate date) {
        return date.toString();
    }
}
