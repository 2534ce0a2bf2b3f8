import java.util.Set;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Prints metrics of a broker, one line each. Arguments: HOST PORT KIND.
 * KIND topics: bytes by topic, as metric, topic and count. KIND requests: TotalTimeMs by API, as API, count and mean.
 */
public class BrokerMetrics {
    public static void main(String[] arguments) throws Exception {
        String url = "service:jmx:rmi:///jndi/rmi://" + arguments[0] + ":" + arguments[1] + "/jmxrmi";
        boolean isOfTopics = arguments[2].equals("topics");
        String pattern = isOfTopics
            ? "kafka.server:type=BrokerTopicMetrics,topic=*,*"
            : "kafka.network:type=RequestMetrics,name=TotalTimeMs,*";
        try (var connector = JMXConnectorFactory.connect(new JMXServiceURL(url))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            Set<ObjectName> names = server.queryNames(new ObjectName(pattern), null);
            for (ObjectName name : names) {
                String metric = name.getKeyProperty("name");
                Object count = server.getAttribute(name, "Count");
                if (!isOfTopics) {
                    Object mean = server.getAttribute(name, "Mean");
                    System.out.println(name.getKeyProperty("request") + "\t" + count + "\t" + mean);
                } else if (metric.equals("BytesInPerSec") || metric.equals("BytesOutPerSec")) {
                    System.out.println(metric + "\t" + name.getKeyProperty("topic") + "\t" + count);
                }
            }
        }
    }
}
