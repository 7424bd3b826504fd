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

/** The bookstore as it was given: read with neither of the libraries that are measured, so that both are cold. */
final class Given {
    private Given() {}

    static List<JSONObject> books(Path file) throws IOException {
        JSONArray given = new JSONObject(new JSONTokener(Files.readString(file, StandardCharsets.UTF_8))).getJSONArray("books");
        List<JSONObject> books = new ArrayList<>(given.length());
        given.forEach(book -> books.add((JSONObject) book));
        return books;
    }
}
