package org.benchbook;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.json.JSONObject;

/** What takes turns in one process: each codec; in the second of two identical cells, an A/A pair, each in both arms. */
public final class Turns<T> {
    /** A codec, and the arm that its values are of: null where the cell measures one. */
    public record Turn<T>(T codec, String arm) {}

    private final List<Turn<T>> turns = new ArrayList<>();
    private final boolean paired;

    public Turns(List<T> codecs, JSONObject parameters) {
        paired = parameters.getString("arm").equals("b") && parameters.getString("process").equals("together");
        for (String arm : paired ? Arrays.asList("a", "b") : Collections.<String>singletonList(null)) {
            codecs.forEach(codec -> turns.add(new Turn<>(codec, arm)));
        }
    }

    /** Returns whether both arms are measured: then each codec goes once before, for its first use would be one arm's. */
    public boolean paired() {
        return paired;
    }

    /** Returns the turns of a repetition: in odd ones from the last to the first, so that drift is shared. */
    public List<Turn<T>> in(int repetition) {
        List<Turn<T>> order = new ArrayList<>(turns);
        if (repetition % 2 == 1) {
            Collections.reverse(order);
        }
        return order;
    }
}
