package org.benchbook.bookstore;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import jakarta.xml.bind.annotation.XmlAccessType;
import jakarta.xml.bind.annotation.XmlAccessorType;
import jakarta.xml.bind.annotation.XmlAttribute;
import jakarta.xml.bind.annotation.XmlElement;
import jakarta.xml.bind.annotation.XmlRootElement;
import jakarta.xml.bind.annotation.XmlType;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.json.JSONObject;

/** The paper's first test case: books with an identifier, a title and an author. */
@XmlRootElement(name = "bookstore", namespace = "org.example")
@XmlAccessorType(XmlAccessType.FIELD)
public final class Bookstore1 {
    @XmlElement(name = "book")
    public List<Book> books = new ArrayList<>();

    /** One book; the identifier is an XML attribute. */
    @XmlAccessorType(XmlAccessType.FIELD)
    @XmlType(propOrder = {"title", "author"})
    @JsonPropertyOrder({"id", "title", "author"})
    public static final class Book {
        @XmlAttribute
        public String id;

        public String title;
        public String author;

        @Override
        public boolean equals(Object other) {
            return other instanceof Book book
                    && id.equals(book.id)
                    && title.equals(book.title)
                    && author.equals(book.author);
        }

        @Override
        public int hashCode() {
            return Objects.hash(id, title, author);
        }
    }

    /** Returns a function that builds the bookstore of a file anew; it reads the file once. */
    static Supplier<Object> makeBuilder(Path file) throws IOException {
        List<JSONObject> records = BookFile.read(file);
        return () -> {
            Bookstore1 bookstore = new Bookstore1();
            for (JSONObject record : records) {
                Book book = new Book();
                book.id = record.getString("id");
                book.title = record.getString("title");
                book.author = record.getString("author");
                bookstore.books.add(book);
            }
            return bookstore;
        };
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bookstore1 bookstore && books.equals(bookstore.books);
    }

    @Override
    public int hashCode() {
        return books.hashCode();
    }
}
