package org.benchbook;

import org.json.JSONObject;

/** One number, with its unit, its source and its smallest step. */
public record Value(String role, String metric, double value, String unit, String source, double resolution) {
    public static Value size(long bytes, String source) {
        return new Value("client", "size", bytes, "B", source, 1);
    }

    Value plus(Value other) {
        return new Value(role, metric, value + other.value, unit, source, resolution + other.resolution);
    }

    JSONObject json() {
        return new JSONObject()
                .put("role", role)
                .put("metric", metric)
                .put("value", value)
                .put("unit", unit)
                .put("source", source)
                .put("resolution", resolution);
    }
}
