import java.util.Collections;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;

/** Makes the topic of all the others. */
public class Setup extends TopicAdmin {
    @Override
    void administer(AdminClient admin, String prefix, String topic) throws Exception {
        done(admin.createTopics(Collections.singleton(new NewTopic(topic, 3, (short) 1))).all());
    }
}
