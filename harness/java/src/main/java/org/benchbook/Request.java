package org.benchbook;

import java.nio.file.Path;
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

    public Path data() {
        return Path.of(json.getString("data"));
    }

    public Path folder() {
        return Path.of(json.getString("folder"));
    }
}
