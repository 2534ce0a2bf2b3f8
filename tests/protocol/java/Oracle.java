import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Answers one line for each line of standard input, with Kafka's own message classes.
 *
 * <p>{@code header KEY VERSION}: request and response header version, or {@code unknown}.
 *
 * <p>{@code error CODE}: the name of an error code, and whether its exception is retriable.
 *
 * <p>{@code message CLASS VERSION BASE64 JSON}, separated by tabs: the bytes read and written again, the JSON of what was
 * read, and the bytes of what the given JSON says; {@code unknown} where this release has no such message or version;
 * or {@code refused} and why.
 */
public final class Oracle {
    private static final String PACKAGE = "org.apache.kafka.common.message.";
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Oracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "header" -> output.println(headers(words));
                case "error" -> output.println(error(words));
                default -> output.println(message(words));
            }
        }
        output.flush();
    }

    private static String error(String[] words) {
        Errors error = Errors.forCode(Short.parseShort(words[1]));
        return error.name() + "\t" + (error.exception() instanceof RetriableException);
    }

    private static String headers(String[] words) {
        short version = Short.parseShort(words[2]);
        try {
            ApiMessageType type = ApiMessageType.fromApiKey(Short.parseShort(words[1]));
            if (version < type.lowestSupportedVersion() || version > type.highestSupportedVersion(true)) {
                return "unknown";
            }
            return type.requestHeaderVersion(version) + "\t" + type.responseHeaderVersion(version);
        } catch (RuntimeException unknown) {
            return "unknown";
        }
    }

    private static String message(String[] words) throws ReflectiveOperationException {
        try {
            Class<?> type = Class.forName(PACKAGE + words[1]);
            Class<?> converter = Class.forName(PACKAGE + words[1] + "JsonConverter");
            short version = Short.parseShort(words[2]);
            Message fromBytes = (Message) type.getConstructor().newInstance();
            if (version < fromBytes.lowestSupportedVersion() || version > fromBytes.highestSupportedVersion()) {
                return "unknown";
            }
            fromBytes.read(new ByteBufferAccessor(ByteBuffer.wrap(Base64.getDecoder().decode(words[3]))), version);
            Object json = converter.getMethod("write", type, short.class, boolean.class)
                .invoke(null, fromBytes, version, false);
            Message fromJson = (Message) converter.getMethod("read", JsonNode.class, short.class)
                .invoke(null, MAPPER.readTree(words[4]), version);
            return written(fromBytes, version) + "\t" + json + "\t" + written(fromJson, version);
        } catch (ClassNotFoundException missing) {
            return "unknown";
        } catch (RuntimeException | InvocationTargetException | IOException why) {
            Throwable cause = why.getCause() == null ? why : why.getCause();
            return "refused\t" + cause.toString().replaceAll("\\s+", " ");
        }
    }

    private static String written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return Base64.getEncoder().encodeToString(buffer.array());
    }
}
