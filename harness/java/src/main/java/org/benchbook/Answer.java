package org.benchbook;

import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** The answer, a repetition at a time. */
public final class Answer {
    private final Contract contract;
    private final int repetitions;
    private String driver = "";

    Answer(Contract contract, int repetitions) {
        this.contract = contract;
        this.repetitions = repetitions;
    }

    /** Names the libraries that did the work, with their versions. */
    public void driver(String driver) {
        this.driver = driver;
    }

    public int repetitions() {
        return repetitions;
    }

    public void repetition(int number, List<Section> sections) {
        JSONArray written = new JSONArray();
        sections.forEach(section -> written.put(section.json()));
        contract.print(new JSONObject().put("repetition", number).put("sections", written));
    }

    void close() {
        String runtime = System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version");
        long heap = Runtime.getRuntime().maxMemory();
        contract.print(new JSONObject()
                .put("closed", true)
                .put("repetitions", repetitions)
                .put("driver", driver)
                .put("runtime", runtime)
                .put("heap_limit", heap));
    }
}
