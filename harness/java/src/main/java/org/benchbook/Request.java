package org.benchbook;

import java.nio.file.Path;
import java.util.OptionalInt;
import org.json.JSONObject;

/** What was asked. */
public record Request(JSONObject json) {
    public String study() {
        return json.getString("study");
    }

    public int repetitions() {
        return parameters().getInt("repetitions");
    }

    public JSONObject parameters() {
        return json.getJSONObject("parameters");
    }

    /** Returns the processor that a server is to have for itself, where there are enough of them. */
    public OptionalInt serverProcessor() {
        return json.has("processors") ? OptionalInt.of(json.getJSONArray("processors").getInt(1)) : OptionalInt.empty();
    }

    public Path data() {
        return Path.of(json.getString("data"));
    }

    public Path folder() {
        return Path.of(json.getString("folder"));
    }
}
