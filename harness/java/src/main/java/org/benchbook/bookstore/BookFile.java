package org.benchbook.bookstore;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;
import org.json.JSONTokener;

/** The file with the cell's books. None of the measured libraries reads it, so all stay cold. */
final class BookFile {
    private BookFile() {}

    static List<JSONObject> read(Path file) throws IOException {
        String text = Files.readString(file, StandardCharsets.UTF_8);
        JSONArray books = new JSONObject(new JSONTokener(text)).getJSONArray("books");
        List<JSONObject> read = new ArrayList<>(books.length());
        books.forEach(book -> read.add((JSONObject) book));
        return read;
    }
}
