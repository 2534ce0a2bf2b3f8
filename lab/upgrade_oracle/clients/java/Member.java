import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/**
 * A member of a group that follows the commands on its standard input, and prints the number of its partitions.
 * Arguments: ADDRESS TOPIC KEY=VALUE..., which are the consumer's settings. Commands: subscribe TOPIC..., close.
 * Without settings it creates topics of four partitions, or adds one (TOPIC+), and ends.
 */
public class Member {
    public static void main(String[] arguments) throws Exception {
        Properties settings = CorpusClient.connection(arguments[0]);
        if (arguments.length == 2) {
            administer(settings, arguments[1].split(","));
            return;
        }
        for (String argument : Arrays.copyOfRange(arguments, 2, arguments.length)) {
            settings.put(argument.substring(0, argument.indexOf('=')), argument.substring(argument.indexOf('=') + 1));
        }
        settings.put("metadata.max.age.ms", "2000");
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.put("key.deserializer", bytes);
        settings.put("value.deserializer", bytes);
        BlockingQueue<String> commands = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> new BufferedReader(new InputStreamReader(System.in)).lines().forEach(commands::add));
        reader.setDaemon(true);
        reader.start();
        int before = -1;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[1]));
            for (String command = ""; !"close".equals(command); command = commands.poll()) {
                if (command != null && command.startsWith("subscribe ")) {
                    consumer.subscribe(Arrays.asList(command.substring(10).split(" ")));
                }
                consumer.poll(Duration.ofMillis(100));
                if (consumer.assignment().size() != before) {
                    before = consumer.assignment().size();
                    System.out.println(before);
                }
            }
        }
    }

    private static void administer(Properties settings, String[] topics) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            for (String topic : topics) {
                if (topic.endsWith("+")) {
                    String name = topic.substring(0, topic.length() - 1);
                    Collection<?> now = admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions();
                    admin.createPartitions(Map.of(name, NewPartitions.increaseTo(now.size() + 1))).all().get();
                } else {
                    admin.createTopics(List.of(new NewTopic(topic, 4, (short) 1))).all().get();
                }
            }
        }
    }
}
