import java.util.Set;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Prints a broker's counts of bytes by topic, one line each: metric, topic and count. Arguments: HOST PORT. */
public class TopicBytes {
    public static void main(String[] arguments) throws Exception {
        String url = "service:jmx:rmi:///jndi/rmi://" + arguments[0] + ":" + arguments[1] + "/jmxrmi";
        try (var connector = JMXConnectorFactory.connect(new JMXServiceURL(url))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            Set<ObjectName> names = server.queryNames(new ObjectName("kafka.server:type=BrokerTopicMetrics,topic=*,*"), null);
            for (ObjectName name : names) {
                String metric = name.getKeyProperty("name");
                if (metric.equals("BytesInPerSec") || metric.equals("BytesOutPerSec")) {
                    Object count = server.getAttribute(name, "Count");
                    System.out.println(metric + "\t" + name.getKeyProperty("topic") + "\t" + count);
                }
            }
        }
    }
}
