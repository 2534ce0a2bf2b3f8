import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Does what a client of Kafka does, and prints one line per role: the role, the client id and what went wrong, as JSON.
 * Arguments: ADDRESS PREFIX TOPIC ROLE... ; a role is NAME=CLIENT_ID, or NAME:CLIENT_ID for the id that the library picks.
 * With SASL/PLAIN, if the environment's KAFKA_SASL holds USER:PASSWORD, for releases from 0.10 on.
 * This class has what every release since 0.10 has; transactions and administration are classes of their own.
 */
public class CorpusClient {
    static final int PATIENCE_MS = 40_000;
    static final int STAY_MS = 2_000; // in a group, so that it sends heartbeats
    static final int MESSAGES = 50;

    /** What a role does; a client id that is null leaves the choice to the library. */
    interface Role {
        void run(String address, String prefix, String topic, String clientId) throws Exception;
    }

    private interface Callable {
        void call() throws Exception;
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int index = 3; index < arguments.length; index++) {
            String[] words = arguments[index].split("[:=]");
            String clientId = arguments[index].contains("=") ? words[1] : null;
            String failure = limited(() -> role(words[0]).run(arguments[0], arguments[1], arguments[2], clientId));
            String error = failure == null ? "null" : '"' + failure.replaceAll("[\"\\\\\\s]+", " ") + '"';
            System.out.printf("{\"role\": \"%s\", \"client_id\": \"%s\", \"error\": %s}%n", words[0], words[1], error);
        }
        System.exit(0); // not waiting for a client that cannot close
    }

    /** What went wrong, or null; old clients may wait for ever. */
    private static String limited(Callable work) throws InterruptedException {
        String[] failure = {"not done after " + 3 * PATIENCE_MS / 2 + " ms"};
        Thread thread = new Thread(() -> {
            try {
                work.call();
                failure[0] = null;
            } catch (Throwable error) {
                failure[0] = chain(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        thread.join(3 * PATIENCE_MS / 2);
        return failure[0];
    }

    private static String chain(Throwable failure) {
        return failure.getCause() == null ? failure.toString() : failure + ": " + chain(failure.getCause());
    }

    private static Role role(String name) throws Exception {
        switch (name) {
            case "produce": return CorpusClient::produce;
            case "consume": return CorpusClient::consume;
            default: return (Role) Class.forName(name).getDeclaredConstructor().newInstance();
        }
    }

    static Properties common(String address, String clientId) {
        Properties common = connection(address);
        if (clientId != null) common.put("client.id", clientId);
        for (String side : new String[] {"key", "value"}) {
            common.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            common.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        return common;
    }

    /** What every client needs to connect. */
    static Properties connection(String address) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        String credentials = System.getenv("KAFKA_SASL");
        if (credentials != null && !credentials.isEmpty()) {
            settings.put("security.protocol", "SASL_PLAINTEXT");
            settings.put("sasl.mechanism", "PLAIN");
            Configuration.setConfiguration(login(credentials.split(":", 2)));
        }
        return settings;
    }

    /** The login of the whole process, as releases before 0.10.2 have no sasl.jaas.config. */
    private static Configuration login(String[] credentials) {
        String module = "org.apache.kafka.common.security.plain.PlainLoginModule";
        Map<String, String> options = new HashMap<>();
        options.put("username", credentials[0]);
        options.put("password", credentials[1]);
        AppConfigurationEntry entry = new AppConfigurationEntry(module, LoginModuleControlFlag.REQUIRED, options);
        return new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return "KafkaClient".equals(name) ? new AppConfigurationEntry[] {entry} : null;
            }
        };
    }

    private static void produce(String address, String prefix, String topic, String clientId) throws Exception {
        Properties settings = common(address, clientId);
        settings.put("request.timeout.ms", Integer.toString(PATIENCE_MS / 2));
        settings.put("delivery.timeout.ms", Integer.toString(PATIENCE_MS)); // from 2.1 on; older ones do not try again
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        for (int sent = 0; sent < MESSAGES; sent++) {
            producer.send(new ProducerRecord<String, String>(topic, "value")).get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        }
        producer.close();
    }

    private static void consume(String address, String prefix, String topic, String clientId) throws Exception {
        Properties settings = common(address, clientId);
        settings.put("group.id", "g-" + prefix); // both consumers', so that the second goes on from committed offsets
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("max.poll.records", "10");
        settings.put("heartbeat.interval.ms", Integer.toString(STAY_MS / 4));
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            receive(consumer);
        }
    }

    private static void receive(KafkaConsumer<String, String> consumer) throws Exception {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (poll(consumer).isEmpty()) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException("no record after " + PATIENCE_MS + " ms");
            }
        }
        consumer.commitSync();
        end = System.currentTimeMillis() + STAY_MS;
        while (System.currentTimeMillis() < end) {
            poll(consumer);
        }
    }

    /** Polls for half a second: with a Duration from 2.0 on, as releases up to 3.x do with a number. */
    private static ConsumerRecords<?, ?> poll(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            return (ConsumerRecords<?, ?>) KafkaConsumer.class.getMethod("poll", Duration.class).invoke(consumer, Duration.ofMillis(500));
        } catch (NoSuchMethodException before20) {
            return (ConsumerRecords<?, ?>) KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 500L);
        }
    }
}
