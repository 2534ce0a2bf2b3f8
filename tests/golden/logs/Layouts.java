import java.io.*; import java.nio.charset.StandardCharsets; import java.nio.file.*; import java.util.*;
import org.apache.logging.log4j.*; import org.apache.logging.log4j.core.*; import org.apache.logging.log4j.core.layout.*;
import org.apache.logging.log4j.core.config.*; import org.apache.logging.log4j.core.impl.*;
import org.apache.logging.log4j.core.net.Facility; import org.apache.logging.log4j.core.time.MutableInstant;
import org.apache.logging.log4j.layout.template.json.JsonTemplateLayout; import org.apache.logging.log4j.message.SimpleMessage;
/** args: a file in Kafka's default layout whose records are separated by byte 0x1E, and an output folder. */
public class Layouts {
  public static void main(String[] a) throws Exception {
    Configuration c = new DefaultConfiguration();
    Map<String, Layout<?>> layouts = new LinkedHashMap<>();
    String[][] patterns = {
      {"default", "[%d] %p %m (%c)%n"}, {"thread_last", "%d{ISO8601} %p %m (%c) [%t]%n"},
      {"logger_first", "%d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n"}, {"message", "%m%n"},
      {"offset_time", "[%d{ISO8601_OFFSET_DATE_TIME_HHCMM}] %p %m (%c)%n"},
      {"offset_time_basic", "[%d{ISO8601_OFFSET_DATE_TIME_HHMM}] %p %m (%c)%n"}};
    for (String[] p : patterns) layouts.put(p[0] + ".log", PatternLayout.newBuilder().withPattern(p[1]).withConfiguration(c).withCharset(StandardCharsets.UTF_8).build());
    for (String t : new String[] {"EcsLayout", "LogstashJsonEventLayoutV1", "JsonLayout", "GelfLayout", "GcpLayout"})
      layouts.put("template_" + t + ".json", JsonTemplateLayout.newBuilder().setConfiguration(c).setEventTemplateUri("classpath:" + t + ".json").setCharset(StandardCharsets.UTF_8).build());
    layouts.put("json_layout.json", JsonLayout.newBuilder().setConfiguration(c).setCompact(true).setEventEol(true).setCharset(StandardCharsets.UTF_8).build());
    layouts.put("json_layout_time_millis.json", JsonLayout.newBuilder().setConfiguration(c).setCompact(true).setEventEol(true).setIncludeTimeMillis(true).setCharset(StandardCharsets.UTF_8).build());
    layouts.put("rfc5424.log", Rfc5424Layout.newBuilder().setConfiguration(c).setFacility(Facility.LOCAL0).setAppName("kafka").setIncludeNL(true).setEscapeNL(null).build());
    layouts.put("rfc3164.log", SyslogLayout.newBuilder().setFacility(Facility.LOCAL0).setIncludeNewLine(true).build());
    String[] records = Files.readString(Path.of(a[0]), StandardCharsets.UTF_8).split("\u001e");
    java.time.format.DateTimeFormatter f = java.time.format.DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss,SSS").withZone(java.time.ZoneOffset.UTC);
    for (Map.Entry<String, Layout<?>> e : layouts.entrySet()) {
      try (OutputStream out = Files.newOutputStream(Path.of(a[1], e.getKey()))) {
        for (String r : records) {
          if (r.isEmpty()) continue;
          int close = r.indexOf("] "), level = r.indexOf(' ', close + 2), logger = r.lastIndexOf(" (");
          MutableInstant at = new MutableInstant();
          java.time.Instant i = java.time.Instant.from(f.parse(r.substring(1, close)));
          at.initFromEpochSecond(i.getEpochSecond(), i.getNano());
          String name = r.substring(logger + 2, r.lastIndexOf(")"));
          LogEvent event = new Log4jLogEvent.Builder().setLoggerName(name).setLoggerFqcn("kafka.utils.Logging")
            .setLevel(Level.valueOf(r.substring(close + 2, level))).setMessage(new SimpleMessage(r.substring(level + 1, logger)))
            .setInstant(at).setThreadName("data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-0").setThreadId(42).setThreadPriority(5)
            .setSource(new StackTraceElement("kafka.network.RequestChannel$", "updateRequestMetrics", "RequestChannel.scala", 249)).setIncludeLocation(true).build();
          out.write(e.getValue().toByteArray(event));
        }
      }
    }
  }
}
