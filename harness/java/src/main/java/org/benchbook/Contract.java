package org.benchbook;

import dev.harrel.jsonschema.Validator;
import dev.harrel.jsonschema.ValidatorFactory;
import dev.harrel.jsonschema.providers.OrgJsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.json.JSONObject;
import org.json.JSONTokener;

/** The one schema of what is asked and answered; nothing else is read or printed. */
final class Contract {
    private static final URI SCHEMA = URI.create("urn:benchbook:contract");

    private final PrintStream lines;
    private final Validator validator = new ValidatorFactory().withJsonNodeFactory(new OrgJsonNode.Factory()).createValidator();

    Contract(PrintStream lines) {
        this.lines = lines;
    }

    Request read(InputStream input) throws IOException {
        try (InputStream schema = Contract.class.getResourceAsStream("/contract.schema.json")) {
            validator.registerSchema(SCHEMA, new String(schema.readAllBytes(), StandardCharsets.UTF_8));
        }
        String text = new String(input.readAllBytes(), StandardCharsets.UTF_8);
        check("request", text);
        return new Request(new JSONObject(new JSONTokener(text)));
    }

    void print(JSONObject line) {
        String text = line.toString();
        check("line", text);
        lines.println(text);
        lines.flush();
    }

    /** Prints an error, without checking it: the schema may be what failed. */
    void error(Throwable error) {
        JSONObject told = new JSONObject().put("type", error.getClass().getName()).put("message", String.valueOf(error.getMessage()));
        lines.println(new JSONObject().put("error", told));
        lines.flush();
    }

    private void check(String what, String text) {
        Validator.Result result = validator.validate(URI.create(SCHEMA + "#/$defs/" + what), text);
        if (!result.isValid()) {
            var first = result.getErrors().get(0);
            throw new IllegalArgumentException("the " + what + " breaks the contract at " + first.getInstanceLocation() + ": " + first.getError());
        }
    }
}
