import java.lang.reflect.InvocationTargetException;
import java.util.Collection;
import java.util.Collections;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/** Administration of topics and of the consumers' groups, for releases from 2.0 on. */
public class GroupAdmin extends TopicAdmin {
    @Override
    void administer(AdminClient admin, String prefix, String topic) throws Exception {
        super.administer(admin, prefix, topic);
        Collection<String> group = Collections.singleton("g-" + prefix);
        done(admin.listConsumerGroups().all());
        done(admin.describeConsumerGroups(group).all());
        done(admin.listConsumerGroupOffsets("g-" + prefix).partitionsToOffsetAndMetadata());
        deleteOffsets(admin, "g-" + prefix, topic);
        done(admin.deleteConsumerGroups(group).all());
    }

    private static void deleteOffsets(AdminClient admin, String group, String topic) throws Exception {
        try {
            Object result = AdminClient.class
                .getMethod("deleteConsumerGroupOffsets", String.class, Set.class)
                .invoke(admin, group, Collections.singleton(new TopicPartition(topic, 0)));
            done((KafkaFuture<?>) result.getClass().getMethod("all").invoke(result));
        } catch (NoSuchMethodException before24) {
            // these releases cannot
        } catch (InvocationTargetException failure) {
            throw new IllegalStateException(failure.getCause());
        }
    }
}
