package org.benchbook.bookstore;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.benchbook.Answer;
import org.benchbook.Request;
import org.benchbook.Section;
import org.benchbook.Timed;
import org.benchbook.Turns;
import org.benchbook.Turns.Turn;
import org.benchbook.Value;
import org.json.JSONObject;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Study bookstore: marshalling and unmarshalling an object.
 *
 * <p>Each repetition builds the object anew, then marshals and unmarshals it in each format.
 */
public final class Bookstores {
    private final Supplier<Object> builder;
    private final long books;
    private final List<Binding> codecs;
    private final Turns<Binding> turns;
    private final boolean usesFile;
    private final boolean isWarm;
    private final TimeValue iteration;
    private final Path folder;

    public Bookstores(Request request) throws Exception {
        JSONObject parameters = request.parameters();
        Class<?> type = Bookstore2.class;
        if (parameters.getInt("case") == 1) {
            type = Bookstore1.class;
            builder = Bookstore1.makeBuilder(request.data());
        } else {
            builder = Bookstore2.makeBuilder(request.data());
        }
        books = parameters.getLong("n");
        usesFile = parameters.getString("sink").equals("file");
        isWarm = parameters.getString("process").equals("warm");
        iteration = TimeValue.milliseconds(parameters.optLong("iteration_ms", 1000));
        folder = request.folder();
        codecs = makeCodecs(parameters, type);
        turns = new Turns<>(codecs, request);
    }

    private static List<Binding> makeCodecs(JSONObject parameters, Class<?> type) {
        String format = parameters.getString("format");
        boolean each = parameters.getString("binding").equals("each");
        List<Binding> codecs = new ArrayList<>();
        if (!format.equals("json")) {
            codecs.add(new Binding("xml", "jaxb", each, () -> new Jaxb(type)));
        }
        if (!format.equals("xml")) {
            String name = parameters.getString("json_codec");
            Callable<Codec> maker = () -> new Jackson(type);
            if (name.equals("moxy")) {
                maker = () -> new Moxy(type);
            }
            codecs.add(new Binding("json", name, each, maker));
        }
        return codecs;
    }

    public void run(Answer answer) throws Exception {
        answer.setDriver(String.join(", ", codecs.stream().map(Binding::version).toList()));
        if (isWarm) {
            Warm.run(answer, codecs, builder.get(), books, iteration);
            return;
        }
        // The cost of first use must not be in only one arm of an A/A check.
        if (turns.hasBothArms()) {
            for (Turn<Binding> turn : turns.order(0)) {
                measure(turn, builder.get());
            }
        }
        for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
            Object bookstore = builder.get();
            List<Section> sections = new ArrayList<>();
            for (Turn<Binding> turn : turns.order(repetition)) {
                sections.addAll(measure(turn, bookstore));
            }
            answer.printRepetition(repetition, sections);
        }
    }

    private List<Section> measure(Turn<Binding> turn, Object bookstore) throws Exception {
        Binding codec = turn.codec();
        List<Section> sections = usesFile ? useFile(codec, bookstore) : useMemory(codec, bookstore);
        for (Section section : sections) {
            section.setCodec(codec.format(), codec.name()).setArm(turn.arm());
        }
        return sections;
    }

    private List<Section> useFile(Binding codec, Object bookstore) throws Exception {
        File file = folder.resolve("document." + codec.format()).toFile();
        Timed<?> marshal = Timed.run("client", () -> codec.write(bookstore, file));
        long size = file.length();
        Timed<?> unmarshal = Timed.run("client", () -> codec.read(file));
        // The next repetition writes a new file, as this one did.
        Files.move(file.toPath(), locateLast(codec), StandardCopyOption.REPLACE_EXISTING);
        checkEqual(codec, bookstore, unmarshal.result());
        return makeSections(marshal, Value.makeSize(size, "File.length"), unmarshal);
    }

    private List<Section> useMemory(Binding codec, Object bookstore) throws Exception {
        Timed<byte[]> marshal = Timed.run("client", () -> codec.encode(bookstore));
        Timed<?> unmarshal = Timed.run("client", () -> codec.decode(marshal.result()));
        Files.write(locateLast(codec), marshal.result());
        checkEqual(codec, bookstore, unmarshal.result());
        Value size = Value.makeSize(marshal.result().length, "length");
        return makeSections(marshal, size, unmarshal);
    }

    static void checkEqual(Binding codec, Object written, Object read) {
        if (!written.equals(read)) {
            String reason = "the object that was read back is not the one that was written";
            throw new IllegalStateException(codec.name() + ": " + reason);
        }
    }

    private List<Section> makeSections(Timed<?> marshal, Value size, Timed<?> unmarshal) {
        Section first = marshal.makeSection("marshal", books);
        Section second = unmarshal.makeSection("unmarshal", books);
        Section both = first.plus(second, "round_trip");
        return List.of(first.add(size), second, both);
    }

    /** Returns the path of the format's last document, which the library compares. */
    private Path locateLast(Binding codec) {
        return folder.resolve("last." + codec.format());
    }
}
