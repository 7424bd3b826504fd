package org.benchbook;

import java.io.InputStream;
import java.io.PrintStream;
import org.json.JSONObject;
import org.json.JSONTokener;

/**
 * Reads the request and prints the answer, as contract.schema.json describes both.
 *
 * <p>The library checks both. A check here would warm the JVM up.
 */
final class Contract {
    private final PrintStream lines;

    Contract(PrintStream lines) {
        this.lines = lines;
    }

    Request read(InputStream input) {
        return new Request(new JSONObject(new JSONTokener(input)));
    }

    void print(JSONObject line) {
        lines.println(line);
        lines.flush();
    }

    void printError(Throwable error) {
        JSONObject description = new JSONObject()
                .put("type", error.getClass().getName())
                .put("message", String.valueOf(error.getMessage()));
        print(new JSONObject().put("error", description));
    }
}
