package org.benchbook;

import java.io.InputStream;
import java.io.PrintStream;
import org.json.JSONObject;
import org.json.JSONTokener;

/** What is asked and answered, as contract.schema.json has it: whoever asks checks both, for a check here would warm the JVM up. */
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

    void error(Throwable error) {
        print(new JSONObject().put("error", new JSONObject().put("type", error.getClass().getName()).put("message", String.valueOf(error.getMessage()))));
    }
}
