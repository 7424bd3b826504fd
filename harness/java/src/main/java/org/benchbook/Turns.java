package org.benchbook;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.json.JSONObject;

/**
 * The turns of the codecs that share a process.
 *
 * <p>In the second cell of an A/A check, a check of identical cells, each codec has a turn per arm.
 */
public final class Turns<T> {
    /** A codec, and the arm of its values; null in a cell with one arm. */
    public record Turn<T>(T codec, String arm) {}

    private final List<Turn<T>> turns = new ArrayList<>();
    private final boolean hasBothArms;

    public Turns(List<T> codecs, Request request) {
        JSONObject parameters = request.parameters();
        boolean isSecond = parameters.getString("arm").equals("b");
        hasBothArms = isSecond && parameters.getString("process").equals("together");
        List<String> arms = Collections.singletonList(null);
        if (hasBothArms) {
            arms = Arrays.asList("a", "b");
        }
        for (String arm : arms) {
            codecs.forEach(codec -> turns.add(new Turn<>(codec, arm)));
        }
        // The turn that the request names begins, and the others follow in their order.
        Collections.rotate(turns, -request.first());
    }

    /** Returns whether both arms are measured. Then an untimed pass takes the cost of first use. */
    public boolean hasBothArms() {
        return hasBothArms;
    }

    /** Returns the turns of a repetition; reversed in odd ones, so that drift affects all. */
    public List<Turn<T>> order(int repetition) {
        List<Turn<T>> order = new ArrayList<>(turns);
        if (repetition % 2 == 1) {
            Collections.reverse(order);
        }
        return order;
    }
}
