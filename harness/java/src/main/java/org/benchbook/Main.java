package org.benchbook;

// The version of all that this harness measures, as lib/benchbook/grid/units.py uses it:
// VERSION = 1

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.benchbook.bookstore.Bookstores;
import org.benchbook.tcp.Trials;

/** Reads a request on standard input, does its study, and prints the answer: see contract.schema.json. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        PrintStream lines = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what libraries print is not part of the answer
        Contract contract = new Contract(lines);
        try {
            Request request = contract.read(System.in);
            Answer answer = new Answer(contract, request.repetitions());
            switch (request.study()) {
                case "bookstore" -> new Bookstores(request).run(answer);
                case "tcp" -> new Trials(request).run(answer);
                default -> throw new IllegalArgumentException("no study " + request.study() + " on this language");
            }
            answer.close();
        } catch (Exception | StackOverflowError | OutOfMemoryError error) {
            error.printStackTrace();
            contract.error(error);
            System.exit(1);
        }
    }
}
