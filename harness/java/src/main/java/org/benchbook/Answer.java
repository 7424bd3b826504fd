package org.benchbook;

import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** The answer, which is printed one repetition at a time. */
public final class Answer {
    private final Contract contract;
    private final int repetitions;
    private String driver = "";

    Answer(Contract contract, int repetitions) {
        this.contract = contract;
        this.repetitions = repetitions;
    }

    /** Sets the libraries that do the work, with their versions. */
    public void setDriver(String driver) {
        this.driver = driver;
    }

    public int repetitions() {
        return repetitions;
    }

    /** Prints a repetition's sections. */
    public void printRepetition(int number, List<Section> sections) {
        JSONArray written = new JSONArray();
        sections.forEach(section -> written.put(section.json()));
        contract.print(new JSONObject().put("repetition", number).put("sections", written));
    }

    /** Prints the last line, which says that the answer is complete. */
    void close() {
        String machine = System.getProperty("java.vm.name");
        String runtime = machine + " " + System.getProperty("java.runtime.version");
        contract.print(new JSONObject()
                .put("closed", true)
                .put("repetitions", repetitions)
                .put("driver", driver)
                .put("runtime", runtime)
                .put("heap_limit", Runtime.getRuntime().maxMemory()));
    }
}
