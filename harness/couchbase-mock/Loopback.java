import com.couchbase.mock.BucketConfiguration;
import com.couchbase.mock.CouchbaseMock;
import com.couchbase.mock.httpio.HttpServer;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.BindException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Serves CouchbaseMock on 127.0.0.1, with one bucket, {@code benchbook}.
 *
 * <p>Its own {@code main} binds the REST port on every interface and takes the password from its arguments, which every
 * user can list: so its starting is done here, by reflection. Arguments: the REST port, a file with the password.
 */
final class Loopback {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        String password = Files.readString(Path.of(arguments[1]));
        part("cccpBootstrap").set(null, true); // the SDK asks the data port for the configuration
        CouchbaseMock mock =
                new CouchbaseMock("127.0.0.1", port, 1, 0, 64, "benchbook:" + password + ":couchbase", 0);
        HttpServer rest = (HttpServer) part("httpServer").get(mock);
        try {
            rest.bind(ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port)));
        } catch (BindException taken) {
            System.err.println("Address already in use");
            System.exit(1);
        }
        for (Object bucket : ((Map<?, ?>) part("initialConfigs").get(mock)).values()) {
            mock.createBucket((BucketConfiguration) bucket);
        }
        rest.start();
        System.out.println("ready, data on port " + mock.getCarrierPort("benchbook"));
    }

    private static Field part(String name) throws NoSuchFieldException {
        Field field = CouchbaseMock.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
