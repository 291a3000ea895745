import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.io.ByteUnit;

/** A Neo4j for tests: {@code java -cp 'lib/*' Neo4jServer.java HOME PORT PAGE_CACHE_MIB}. Bolt on loopback, no password. */
public class Neo4jServer {
    public static void main(String[] args) throws InterruptedException {
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(args[1]));
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(Path.of(args[0]))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .setConfig(GraphDatabaseSettings.auth_enabled, false)
                .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(Long.parseLong(args[2])))
                .setConfig(GraphDatabaseSettings.check_point_interval_time, Duration.ofHours(1))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        Thread.currentThread().join();
    }
}
