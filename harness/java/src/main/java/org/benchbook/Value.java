package org.benchbook;

import org.json.JSONObject;

/** One number, with its unit, its source and its smallest step. */
public record Value(String role, String metric, double value, String unit, String source, double resolution) {
    public static Value size(long bytes, String source) {
        return new Value("client", "size", bytes, "B", source, 1);
    }

    /** Returns the value that another process wrote with `json`. */
    public static Value of(JSONObject told) {
        return new Value(
                told.getString("role"),
                told.getString("metric"),
                told.getDouble("value"),
                told.getString("unit"),
                told.getString("source"),
                told.getDouble("resolution"));
    }

    /** Returns the sum of this one and another of its kind. */
    public Value plus(Value other) {
        return new Value(role, metric, value + other.value, unit, source, resolution + other.resolution);
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
