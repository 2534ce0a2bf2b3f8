import java.util.Collections;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Produces to and consumes from one topic, with what every release since 0.10 has; prints how many of each. */
public class UpgradeClient {
    public static void main(String[] arguments) {
        String address = arguments[0], mode = arguments[1], clientId = arguments[2];
        System.out.println(mode.equals("produce") ? produced(address, clientId) : consumed(address, clientId));
        System.exit(0); // not waiting for a client that cannot close
    }

    private static Properties common(String address, String clientId) {
        Properties common = new Properties();
        common.put("bootstrap.servers", address);
        common.put("client.id", clientId);
        for (String side : new String[] {"key", "value"}) {
            common.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            common.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        return common;
    }

    private static int produced(String address, String clientId) {
        Properties settings = common(address, clientId);
        settings.put("retries", "0");
        settings.put("max.block.ms", "10000");
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        for (int sent = 0; sent < 5; sent++) {
            try {
                producer.send(new ProducerRecord<String, String>("upgrade", "value")).get(12, TimeUnit.SECONDS);
            } catch (Exception error) {
                return sent;
            }
        }
        return 5;
    }

    @SuppressWarnings("deprecation") // poll(long) is the one that all releases up to 3.x have
    private static int consumed(String address, String clientId) {
        Properties settings = common(address, clientId);
        settings.put("group.id", "group-of-" + clientId);
        settings.put("auto.offset.reset", "earliest");
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(Collections.singletonList("upgrade"));
        int received = 0;
        long end = System.currentTimeMillis() + 12_000;
        while (received == 0 && System.currentTimeMillis() < end) {
            try {
                received += consumer.poll(500).count();
            } catch (Exception error) {
                return received;
            }
        }
        return received;
    }
}
