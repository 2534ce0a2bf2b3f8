import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Makes a compacted topic, writes several values per key and a tombstone, and reads the topic from its beginning
 * until the broker has compacted it. For releases from 2.0 on.
 */
public class Compacted implements CorpusClient.Role {
    private static final int KEYS = 5;
    private static final int ROUNDS = 4;
    private static final long PAUSE_MS = 200; // longer than a segment is written to; the newest one is never compacted

    @Override
    public void run(String address, String prefix, String topic, String clientId) throws Exception {
        String compacted = prefix + "-compacted";
        Properties settings = CorpusClient.common(address, clientId);
        try (AdminClient admin = AdminClient.create(settings)) {
            Map<String, String> configs = Map.of(
                "cleanup.policy", "compact", "segment.ms", "100",
                "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "0");
            NewTopic wanted = new NewTopic(compacted, 1, (short) 1).configs(configs);
            TopicAdmin.done(admin.createTopics(Collections.singleton(wanted)).all());
        }
        int written = write(settings, compacted);
        long end = System.currentTimeMillis() + CorpusClient.PATIENCE_MS;
        int read = read(settings, compacted);
        if (read != written) {
            throw new IllegalStateException("read " + read + " of " + written + " records");
        }
        while (read == written) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException("not compacted after " + CorpusClient.PATIENCE_MS + " ms");
            }
            Thread.sleep(10 * PAUSE_MS);
            read = read(settings, compacted);
        }
    }

    private static int write(Properties settings, String topic) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int round = 0; round < ROUNDS; round++) {
                for (int key = 0; key < KEYS; key++) {
                    send(producer, topic, "key-" + key, "value of round " + round);
                }
                Thread.sleep(PAUSE_MS);
            }
            send(producer, topic, "key-0", null);
        }
        return ROUNDS * KEYS + 1;
    }

    private static void send(KafkaProducer<String, String> producer, String topic, String key, String value)
        throws Exception {
        producer.send(new ProducerRecord<>(topic, key, value)).get(CorpusClient.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    /** Returns how many records the whole topic has. */
    private static int read(Properties settings, String topic) {
        TopicPartition partition = new TopicPartition(topic, 0);
        int count = 0;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                count += consumer.poll(Duration.ofMillis(500)).count();
            }
        }
        return count;
    }
}
