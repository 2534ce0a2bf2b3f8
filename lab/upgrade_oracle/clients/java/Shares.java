import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;

/** Reads a topic from its beginning in a share group (KIP-932), and acknowledges what it has read. */
public class Shares implements CorpusClient.Role {
    @Override
    public void run(String address, String prefix, String topic, String clientId) throws Exception {
        String group = "share-" + prefix;
        Properties settings = CorpusClient.connection(address);
        try (Admin admin = Admin.create(settings)) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET))))
                .all().get();
        }
        settings.put("client.id", clientId);
        settings.put("group.id", group);
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.put("key.deserializer", bytes);
        settings.put("value.deserializer", bytes);
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            int read = 0;
            long end = System.nanoTime() + CorpusClient.PATIENCE_MS * 1_000_000L;
            while (read < CorpusClient.MESSAGES && System.nanoTime() < end) {
                read += consumer.poll(Duration.ofMillis(500)).count();
            }
            consumer.commitSync();
            if (read == 0) {
                throw new IllegalStateException("read nothing");
            }
        }
    }
}
