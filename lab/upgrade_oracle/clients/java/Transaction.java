import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** One committed transaction, for releases from 0.11 on. */
public class Transaction implements CorpusClient.Role {
    @Override
    public void run(String address, String prefix, String topic, String clientId) throws Exception {
        Properties settings = CorpusClient.common(address, clientId);
        settings.put("transactional.id", clientId);
        settings.put("max.block.ms", Integer.toString(CorpusClient.PATIENCE_MS));
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<String, String>(topic, "in a transaction"))
            .get(CorpusClient.PATIENCE_MS, TimeUnit.MILLISECONDS);
        producer.commitTransaction();
        producer.close();
    }
}
