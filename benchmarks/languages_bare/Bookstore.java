import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.Marshaller;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.benchbook.bookstore.Bookstore1;

/** The study's loop as a plain program: no contract, no checks. Arguments: the bookstore in JSON, a folder, repetitions. */
public final class Bookstore {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JAXBContext context = JAXBContext.newInstance(Bookstore1.class);
        Object bookstore = new ObjectMapper().readValue(new File(arguments[0]), Bookstore1.class);
        Path folder = Path.of(arguments[1]);
        File xml = folder.resolve("bare.xml").toFile();
        File json = folder.resolve("bare.json").toFile();
        for (int repetition = Integer.parseInt(arguments[2]); repetition > 0; repetition--) {
            long start = System.nanoTime();
            Marshaller marshaller = context.createMarshaller();
            marshaller.setProperty(Marshaller.JAXB_FORMATTED_OUTPUT, true);
            marshaller.marshal(bookstore, xml);
            context.createUnmarshaller().unmarshal(xml);
            mapper.writeValue(json, bookstore);
            mapper.readValue(json, Bookstore1.class);
            System.out.println(System.nanoTime() - start);
            Files.delete(xml.toPath());
            Files.delete(json.toPath());
        }
    }
}
