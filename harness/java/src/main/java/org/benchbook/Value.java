package org.benchbook;

import org.json.JSONObject;

/** One number, with its unit, its source and its smallest step. */
public record Value(
        String role, String metric, double value, String unit, String source, double resolution) {
    public static Value makeSize(long bytes, String source) {
        return new Value("client", "size", bytes, "B", source, 1);
    }

    /** Returns the value that another process wrote with `json`. */
    public static Value parse(JSONObject json) {
        return new Value(
                json.getString("role"),
                json.getString("metric"),
                json.getDouble("value"),
                json.getString("unit"),
                json.getString("source"),
                json.getDouble("resolution"));
    }

    /** Returns the sum of this value and another of the same metric. */
    public Value plus(Value other) {
        double sum = value + other.value;
        return new Value(role, metric, sum, unit, source, resolution + other.resolution);
    }

    public JSONObject json() {
        return new JSONObject()
                .put("role", role)
                .put("metric", metric)
                .put("value", value)
                .put("unit", unit)
                .put("source", source)
                .put("resolution", resolution);
    }
}
