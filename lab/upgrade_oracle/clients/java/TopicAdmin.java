import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;

/** Administration of topics, for releases from 0.11 on. */
public class TopicAdmin implements CorpusClient.Role {
    @Override
    public void run(String address, String prefix, String topic, String clientId) throws Exception {
        Properties settings = CorpusClient.common(address, clientId);
        settings.put("request.timeout.ms", Integer.toString(CorpusClient.PATIENCE_MS));
        try (AdminClient admin = AdminClient.create(settings)) {
            administer(admin, prefix, topic);
        }
    }

    void administer(AdminClient admin, String prefix, String topic) throws Exception {
        Collection<String> created = Collections.singleton(prefix + "-adm");
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        done(admin.listTopics().names());
        done(admin.createTopics(Collections.singleton(new NewTopic(prefix + "-adm", 1, (short) 1))).all());
        done(admin.describeConfigs(Collections.singleton(resource)).all());
        describe(admin, topic);
        done(admin.deleteTopics(created).all());
    }

    /** The method of the result has another name from 3.1 on, and releases up to 3.x have the old one. */
    private static void describe(AdminClient admin, String topic) throws Exception {
        Object result = admin.describeTopics(Collections.singleton(topic));
        Object futures;
        try {
            futures = result.getClass().getMethod("topicNameValues").invoke(result);
        } catch (NoSuchMethodException before31) {
            futures = result.getClass().getMethod("values").invoke(result);
        }
        done((KafkaFuture<?>) ((Map<?, ?>) futures).get(topic));
    }

    static <T> T done(KafkaFuture<T> future) throws Exception {
        return future.get(CorpusClient.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }
}
