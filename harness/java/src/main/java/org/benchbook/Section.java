package org.benchbook;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** What was timed at once, with all that was read around it. */
public final class Section {
    private final JSONObject told = new JSONObject();
    private final List<Value> values;

    public Section(String operation, Instant startedAt, long count, List<Value> values) {
        this.values = new ArrayList<>(values);
        told.put("operation", operation).put("started_at", startedAt.toString()).put("count", count);
    }

    public Section codec(String format, String codec) {
        told.put("format", format).put("codec", codec);
        return this;
    }

    /** Says which of two arms that a cell measures in turn this is; null where it measures one. */
    public Section arm(String arm) {
        told.put("arm", arm);
        return this;
    }

    public Section with(Value value) {
        values.add(value);
        return this;
    }

    /** Returns a section that covers this one and another, value by value. */
    public Section plus(Section other, String operation) {
        List<Value> sums = new ArrayList<>();
        for (int i = 0; i < Math.min(values.size(), other.values.size()); i++) {
            sums.add(values.get(i).plus(other.values.get(i)));
        }
        return new Section(operation, Instant.parse(told.getString("started_at")), told.getLong("count"), sums);
    }

    JSONObject json() {
        JSONArray written = new JSONArray();
        values.forEach(value -> written.put(value.json()));
        return told.put("values", written);
    }
}
