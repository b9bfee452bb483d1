import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.PrintWriter;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Compacts partitions as the log cleaner of Kafka 4.3 or newer does, up to their last segment, and prints a line of JSON
 * for each: the offsets left at once, and those left by another cleaning after delete.retention.ms.
 *
 * <p>`Clean LOG_DIR`.
 */
public final class Clean {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long DELETE_RETENTION_MS = 86_400_000;
    private static final int BUFFER = 1 << 20;

    private Clean() { }

    public static void main(String[] arguments) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        Throttler unthrottled = new Throttler(Double.MAX_VALUE, 1000, "cleaner-io", "bytes", Time.SYSTEM);
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(BUFFER), BUFFER, BUFFER, 0.9, unthrottled, Time.SYSTEM,
            partition -> { });
        LogConfig config = new LogConfig(Map.of(
            "cleanup.policy", "compact", "delete.retention.ms", String.valueOf(DELETE_RETENTION_MS)));
        try (PrintWriter out = new PrintWriter(System.out)) {
            for (File directory : new File(arguments[0]).listFiles(File::isDirectory)) {
                UnifiedLog log = UnifiedLog.create(directory, config, 0, 0, scheduler, new BrokerTopicStats(), Time.SYSTEM,
                    900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1),
                    false, Optional.empty());
                ObjectNode line = JSON.createObjectNode().put("partition", log.topicPartition().partition());
                long now = Time.SYSTEM.milliseconds();
                cleaner.doClean(toClean(log), now);
                print(log, line.putArray("left"));
                cleaner.doClean(toClean(log), now + DELETE_RETENTION_MS + 1);
                print(log, line.putArray("left_later"));
                out.println(line);
                log.close();
            }
        }
        scheduler.shutdown();
    }

    private static LogToClean toClean(UnifiedLog log) {
        return new LogToClean(log, 0, log.activeSegment().baseOffset(), false);
    }

    private static void print(UnifiedLog log, ArrayNode offsets) {
        for (LogSegment segment : log.logSegments()) {
            for (Record record : segment.log().records()) {
                offsets.add(record.offset());
            }
        }
    }
}
