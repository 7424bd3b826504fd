package org.benchbook;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
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

    /** Returns what goes before a server's command, so that it starts at a machine of its own; nothing where it has none. */
    public List<String> serverCommand() {
        return Optional.ofNullable(json.optJSONObject("server"))
                .map(server -> server.getJSONArray("command").toList().stream().map(Object::toString).toList())
                .orElse(List.of());
    }

    /** Returns the address on which a server is to listen: the loopback's, unless it has a machine of its own. */
    public String serverAddress() {
        return Optional.ofNullable(json.optJSONObject("server")).map(server -> server.getString("address")).orElse("127.0.0.1");
    }

    public Path data() {
        return Path.of(json.getString("data"));
    }

    public Path folder() {
        return Path.of(json.getString("folder"));
    }
}
