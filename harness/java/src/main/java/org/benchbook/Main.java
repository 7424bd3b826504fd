package org.benchbook;

// The version of what this harness measures, as lib/benchbook/grid/units.py uses it:
// VERSION = 2

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.benchbook.bookstore.Bookstores;
import org.benchbook.tcp.Trials;

/** Reads a request on standard input, runs its study, and prints the answer. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        PrintStream lines = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // The output of libraries is not part of the answer.
        System.setOut(System.err);
        Contract contract = new Contract(lines);
        try {
            Request request = contract.read(System.in);
            Answer answer = new Answer(contract, request.repetitions());
            switch (request.study()) {
                case "bookstore" -> new Bookstores(request).run(answer);
                case "tcp" -> new Trials(request).run(answer);
                default -> throw new IllegalArgumentException("unknown study " + request.study());
            }
            answer.close();
        } catch (Exception | StackOverflowError | OutOfMemoryError error) {
            error.printStackTrace();
            contract.printError(error);
            System.exit(1);
        }
    }
}
