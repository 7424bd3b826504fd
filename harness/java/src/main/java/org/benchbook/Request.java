package org.benchbook;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.json.JSONObject;

/** A request, as contract.schema.json describes it. */
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

    /** Returns the number of the turn that begins. */
    public int first() {
        return json.optInt("first", 0);
    }

    /** Returns the server's own processor, if there are enough processors. */
    public OptionalInt serverProcessor() {
        if (!json.has("processors")) {
            return OptionalInt.empty();
        }
        return OptionalInt.of(json.getJSONArray("processors").getInt(1));
    }

    /** Returns the command that starts the server's command in its network; empty without one. */
    public List<String> serverCommand() {
        return server()
                .map(server -> server.getJSONArray("command").toList().stream())
                .map(words -> words.map(Object::toString).toList())
                .orElse(List.of());
    }

    /** Returns the address on which the server listens: its network's, else the loopback's. */
    public String serverAddress() {
        return server().map(server -> server.getString("address")).orElse("127.0.0.1");
    }

    public Path data() {
        return Path.of(json.getString("data"));
    }

    public Path folder() {
        return Path.of(json.getString("folder"));
    }

    private Optional<JSONObject> server() {
        return Optional.ofNullable(json.optJSONObject("server"));
    }
}
