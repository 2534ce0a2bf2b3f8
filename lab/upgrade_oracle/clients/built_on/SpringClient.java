import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;

/** Sends and reads three records with Spring: SpringClient ADDRESS TOPIC. */
public class SpringClient {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("client.id", "spring-p");
        DefaultKafkaProducerFactory<String, String> producers =
            new DefaultKafkaProducerFactory<>(settings, new StringSerializer(), new StringSerializer());
        KafkaTemplate<String, String> template = new KafkaTemplate<>(producers);
        for (int number = 0; number < 3; number++) template.send(topic, "record").get();
        Map<String, Object> reading = new HashMap<>(settings);
        reading.put("client.id", "spring-c");
        reading.put("group.id", "spring-group");
        reading.put("auto.offset.reset", "earliest");
        CountDownLatch unread = new CountDownLatch(3);
        ContainerProperties container = new ContainerProperties(topic);
        container.setMessageListener((MessageListener<String, String>) record -> unread.countDown());
        ConcurrentMessageListenerContainer<String, String> listeners = new ConcurrentMessageListenerContainer<>(
            new DefaultKafkaConsumerFactory<>(reading, new StringDeserializer(), new StringDeserializer()), container);
        listeners.setConcurrency(2);
        listeners.start();
        boolean isRead = unread.await(60, TimeUnit.SECONDS);
        listeners.stop();
        producers.destroy();
        System.exit(isRead ? 0 : 1);
    }
}
