package org.benchbook;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** One timed section of a repetition, with its values. */
public final class Section {
    private final JSONObject description = new JSONObject();
    private final List<Value> values;

    public Section(String operation, Instant startedAt, long count, List<Value> values) {
        this.values = new ArrayList<>(values);
        description
                .put("operation", operation)
                .put("started_at", startedAt.toString())
                .put("count", count);
    }

    public Section setCodec(String format, String codec) {
        description.put("format", format).put("codec", codec);
        return this;
    }

    /** Sets the arm of an A/A check; null in a cell with one arm. */
    public Section setArm(String arm) {
        description.put("arm", arm);
        return this;
    }

    public Section add(Value value) {
        values.add(value);
        return this;
    }

    /** Returns a section whose values are the sums of this one's and another's. */
    public Section plus(Section other, String operation) {
        List<Value> sums = new ArrayList<>();
        for (int i = 0; i < Math.min(values.size(), other.values.size()); i++) {
            sums.add(values.get(i).plus(other.values.get(i)));
        }
        Instant startedAt = Instant.parse(description.getString("started_at"));
        return new Section(operation, startedAt, description.getLong("count"), sums);
    }

    JSONObject json() {
        JSONArray written = new JSONArray();
        values.forEach(value -> written.put(value.json()));
        return description.put("values", written);
    }
}
