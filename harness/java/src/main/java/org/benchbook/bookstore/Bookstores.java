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
import org.openjdk.jmh.runner.options.TimeValue;

/** Study bookstore: in each repetition the object is built anew, marshalled and unmarshalled, in one format after the other. */
public final class Bookstores {
    private final Supplier<Object> builder;
    private final long books;
    private final List<Codec> codecs = new ArrayList<>();
    private final Turns<Codec> turns;
    private final boolean toFile;
    private final boolean warm;
    private final TimeValue iteration;
    private final Path folder;

    public Bookstores(Request request) throws Exception {
        var parameters = request.parameters();
        boolean simple = parameters.getInt("case") == 1;
        Class<?> type = simple ? Bookstore1.class : Bookstore2.class;
        builder = simple ? Bookstore1.builder(request.data()) : Bookstore2.builder(request.data());
        books = parameters.getLong("n");
        toFile = parameters.getString("sink").equals("file");
        warm = parameters.getString("process").equals("warm");
        iteration = TimeValue.milliseconds(parameters.optLong("iteration_ms", 1000));
        folder = request.folder();
        String format = parameters.getString("format");
        boolean each = parameters.getString("binding").equals("each");
        if (!format.equals("json")) {
            codecs.add(each ? new EachTime("xml", "jaxb", () -> new Jaxb(type)) : new Jaxb(type));
        }
        if (!format.equals("xml")) {
            Callable<Codec> json = parameters.getString("json_codec").equals("moxy") ? () -> new Moxy(type) : () -> new Jackson(type);
            codecs.add(each ? new EachTime("json", parameters.getString("json_codec"), json) : json.call());
        }
        turns = new Turns<>(codecs, parameters);
    }

    public void run(Answer answer) throws Exception {
        answer.driver(String.join(", ", codecs.stream().map(Codec::version).toList()));
        if (warm) {
            Warm.run(answer, codecs, builder.get(), books, iteration);
            return;
        }
        if (turns.paired()) {
            for (Codec codec : codecs) {
                sections(new Turn<>(codec, null), builder.get());
            }
        }
        for (int repetition = 0; repetition < answer.repetitions(); repetition++) {
            Object bookstore = builder.get();
            List<Section> sections = new ArrayList<>();
            for (Turn<Codec> turn : turns.in(repetition)) {
                sections.addAll(sections(turn, bookstore));
            }
            answer.repetition(repetition, sections);
        }
    }

    private List<Section> sections(Turn<Codec> turn, Object bookstore) throws Exception {
        List<Section> sections = toFile ? throughFile(turn.codec(), bookstore) : throughMemory(turn.codec(), bookstore);
        sections.forEach(section -> section.codec(turn.codec().format(), turn.codec().name()).arm(turn.arm()));
        return sections;
    }

    private List<Section> throughFile(Codec codec, Object bookstore) throws Exception {
        File file = folder.resolve("document." + codec.format()).toFile();
        Timed<?> marshal = Timed.run("client", () -> codec.write(bookstore, file));
        long size = file.length();
        Timed<?> unmarshal = Timed.run("client", () -> codec.read(file));
        Files.move(file.toPath(), last(codec), StandardCopyOption.REPLACE_EXISTING);
        return sections(codec, bookstore, marshal, Value.size(size, "File.length"), unmarshal);
    }

    private List<Section> throughMemory(Codec codec, Object bookstore) throws Exception {
        Timed<byte[]> marshal = Timed.run("client", () -> codec.encode(bookstore));
        Timed<?> unmarshal = Timed.run("client", () -> codec.decode(marshal.result()));
        Files.write(last(codec), marshal.result());
        return sections(codec, bookstore, marshal, Value.size(marshal.result().length, "length"), unmarshal);
    }

    private List<Section> sections(Codec codec, Object bookstore, Timed<?> marshal, Value size, Timed<?> unmarshal) {
        if (!bookstore.equals(unmarshal.result())) {
            throw new IllegalStateException(codec.name() + ": the object that was read back is not the one that was written");
        }
        Section first = marshal.section("marshal", books);
        Section second = unmarshal.section("unmarshal", books);
        Section both = first.plus(second, "round_trip");
        return List.of(first.with(size), second, both);
    }

    /** Returns where the last document is left, for whoever asked to compare it. */
    private Path last(Codec codec) {
        return folder.resolve("last." + codec.format());
    }
}
