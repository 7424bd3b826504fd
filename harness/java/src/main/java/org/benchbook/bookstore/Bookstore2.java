package org.benchbook.bookstore;

import com.fasterxml.jackson.annotation.JsonProperty;
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
import java.util.Date;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.json.JSONObject;

/** The paper's second test case: books with more attributes, and an author who is an object. */
@XmlRootElement(name = "bookstore", namespace = "org.example")
@XmlAccessorType(XmlAccessType.FIELD)
public final class Bookstore2 {
    @XmlElement(name = "book")
    public List<Book> books = new ArrayList<>();

    /** One book; identifier, pages and date of publication are XML attributes. */
    @XmlAccessorType(XmlAccessType.FIELD)
    @XmlType(propOrder = {"title", "author"})
    @JsonPropertyOrder({"id", "pages", "published_on", "title", "author"})
    public static final class Book {
        @XmlAttribute
        public String id;

        @XmlAttribute
        public int pages;

        @XmlAttribute(name = "published_on")
        @JsonProperty("published_on")
        public Date publishedOn;

        public String title;
        public Author author;

        @Override
        public boolean equals(Object other) {
            return other instanceof Book book
                    && pages == book.pages
                    && id.equals(book.id)
                    && publishedOn.equals(book.publishedOn)
                    && title.equals(book.title)
                    && author.equals(book.author);
        }

        @Override
        public int hashCode() {
            return Objects.hash(id, pages, publishedOn, title, author);
        }
    }

    /** The author of a book; the identifier is an XML attribute. */
    @XmlAccessorType(XmlAccessType.FIELD)
    @XmlType(propOrder = {"name", "age", "bornOn"})
    @JsonPropertyOrder({"id", "name", "age", "born_on"})
    public static final class Author {
        @XmlAttribute
        public String id;

        public String name;
        public int age;

        @XmlElement(name = "born_on")
        @JsonProperty("born_on")
        public Date bornOn;

        @Override
        public boolean equals(Object other) {
            return other instanceof Author author
                    && age == author.age
                    && id.equals(author.id)
                    && name.equals(author.name)
                    && bornOn.equals(author.bornOn);
        }

        @Override
        public int hashCode() {
            return Objects.hash(id, name, age, bornOn);
        }
    }

    /** Returns a function that builds the bookstore of a file anew; it reads the file once. */
    static Supplier<Object> makeBuilder(Path file) throws IOException {
        List<JSONObject> records = BookFile.read(file);
        return () -> {
            Bookstore2 bookstore = new Bookstore2();
            records.forEach(record -> bookstore.books.add(makeBook(record)));
            return bookstore;
        };
    }

    private static Book makeBook(JSONObject record) {
        Book book = new Book();
        book.id = record.getString("id");
        book.pages = record.getInt("pages");
        book.publishedOn = new Date(record.getLong("published_on"));
        book.title = record.getString("title");
        JSONObject author = record.getJSONObject("author");
        book.author = new Author();
        book.author.id = author.getString("id");
        book.author.name = author.getString("name");
        book.author.age = author.getInt("age");
        book.author.bornOn = new Date(author.getLong("born_on"));
        return book;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bookstore2 bookstore && books.equals(bookstore.books);
    }

    @Override
    public int hashCode() {
        return books.hashCode();
    }
}
