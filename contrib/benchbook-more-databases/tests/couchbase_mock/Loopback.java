import com.couchbase.mock.BucketConfiguration;
import com.couchbase.mock.CouchbaseMock;
import com.couchbase.mock.deps.org.apache.http.Header;
import com.couchbase.mock.deps.org.apache.http.protocol.HttpRequestHandler;
import com.couchbase.mock.deps.org.apache.http.protocol.UriHttpRequestHandlerMapper;
import com.couchbase.mock.deps.org.apache.http.protocol.UriPatternMatcher;
import com.couchbase.mock.httpio.HttpServer;
import com.couchbase.mock.memcached.MemcachedConnection;
import com.couchbase.mock.memcached.MemcachedServer;
import com.couchbase.mock.memcached.SaslCommandExecutor;
import com.couchbase.mock.memcached.protocol.BinaryCommand;
import com.couchbase.mock.memcached.protocol.BinaryResponse;
import com.couchbase.mock.memcached.protocol.BinarySaslResponse;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;

/**
 * Serves CouchbaseMock on 127.0.0.1, with one bucket, {@code benchbook}, to who knows its password.
 *
 * <p>Its own {@code main} binds the REST port on every interface and takes the password from its arguments, which every
 * user can list; and its REST interface lets in an administrator whose password all know, whose views run as the user
 * that runs this. So its starting is done here, by reflection. Arguments: the REST port, a file with the password.
 */
final class Loopback {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        String login = "benchbook:" + Files.readString(Path.of(arguments[1]));
        field(CouchbaseMock.class, "cccpBootstrap").set(null, true); // the SDK asks the data port for the configuration
        CouchbaseMock mock = new CouchbaseMock("127.0.0.1", port, 1, 0, 64, login + ":couchbase", 0);
        HttpServer rest = (HttpServer) field(CouchbaseMock.class, "httpServer").get(mock);
        try {
            rest.bind(ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port)));
        } catch (BindException taken) {
            System.err.println("Address already in use");
            System.exit(1);
        }
        for (Object bucket : ((Map<?, ?>) field(CouchbaseMock.class, "initialConfigs").get(mock)).values()) {
            mock.createBucket((BucketConfiguration) bucket);
        }
        for (MemcachedServer data : mock.getBuckets().get("benchbook").getServers()) {
            close(data);
        }
        close(rest, ("Basic " + Base64.getEncoder().encodeToString(login.getBytes())).getBytes());
        rest.start();
        System.out.println("ready, data on port " + mock.getCarrierPort("benchbook"));
    }

    /** Has everything that REST can ask, which is known by now, ask for the login first. */
    @SuppressWarnings("unchecked")
    private static void close(HttpServer rest, byte[] login) throws ReflectiveOperationException {
        Object registry = field(HttpServer.class, "registry").get(rest);
        UriPatternMatcher<HttpRequestHandler> paths = (UriPatternMatcher<HttpRequestHandler>)
                field(UriHttpRequestHandlerMapper.class, "matcher").get(registry);
        paths.getObjects().replaceAll((path, handler) -> (request, response, context) -> {
            Header given = request.getFirstHeader("Authorization");
            if (given != null && MessageDigest.isEqual(given.getValue().getBytes(), login)) {
                handler.handle(request, response, context);
            } else {
                response.setStatusCode(401);
            }
        });
    }

    /** Has the data port refuse a wrong password: by itself it only says so, in an answer that lets the client in. */
    private static void close(MemcachedServer data) throws ReflectiveOperationException {
        Object[] executors = (Object[]) field(MemcachedServer.class, "executors").get(data);
        Class<?> kind = executors.getClass().getComponentType();
        Field authenticated = field(MemcachedConnection.class, "authenticated");
        Arrays.setAll(executors, at -> !(executors[at] instanceof SaslCommandExecutor sasl) ? executors[at]
                : Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (proxy, method, given) -> {
                    BinaryCommand command = (BinaryCommand) given[0];
                    BinaryResponse answer = sasl.execute(command, (MemcachedServer) given[1], (MemcachedConnection) given[2]);
                    if (!new String(answer.getBuffer().array()).contains(",e=failed")) {
                        return answer;
                    }
                    authenticated.set(given[2], false);
                    return new BinarySaslResponse(command);
                }));
    }

    private static Field field(Class<?> kind, String name) throws NoSuchFieldException {
        Field found = kind.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }
}
