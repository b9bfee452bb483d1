import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogKey;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValue;

/**
 * Writes what Kafka 4.3 writes, from lines of JSON on standard input.
 *
 * <p>`Write logs LOG_DIR`: a segment each line, of batches. `Write states`: a coordinator record each line; prints key
 * and value in hexadecimal. `Write partitions COUNT`: a transactional id each line; prints its coordinator's partition.
 */
public final class Write {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Write() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (PrintWriter out = new PrintWriter(System.out, false, StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode each = JSON.readTree(line);
                switch (arguments[0]) {
                    case "logs" -> segment(Path.of(arguments[1]), each);
                    case "states" -> out.println(state(each));
                    // TransactionStateManager.partitionFor
                    case "partitions" -> out.println(
                        Utils.abs(each.asText().hashCode()) % Integer.parseInt(arguments[1]));
                    default -> throw new IllegalArgumentException(arguments[0]);
                }
            }
        }
    }

    private static void segment(Path logDir, JsonNode segment) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        for (JsonNode batch : segment.get("batches")) {
            append(buffer, batch);
        }
        Path path = logDir.resolve(segment.get("file").asText());
        Files.createDirectories(path.getParent());
        buffer.flip();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        Files.write(path, bytes);
    }

    private static void append(ByteBuffer buffer, JsonNode batch) {
        long offset = batch.get("base_offset").asLong();
        long timestamp = batch.get("timestamp").asLong();
        int leaderEpoch = batch.get("leader_epoch").asInt();
        long producerId = batch.get("producer_id").asLong();
        short epoch = (short) batch.get("producer_epoch").asInt();
        String kind = batch.get("kind").asText();
        boolean isMarker = kind.equals("COMMIT") || kind.equals("ABORT");
        if (batch.get("is_emptied").asBoolean()) {
            DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.MAGIC_VALUE_V2, producerId, epoch,
                batch.get("base_sequence").asInt(), offset, batch.get("last_offset").asLong(), leaderEpoch,
                TimestampType.CREATE_TIME, timestamp, batch.get("is_transactional").asBoolean(), isMarker);
        } else if (isMarker) {
            EndTransactionMarker marker =
                new EndTransactionMarker(ControlRecordType.valueOf(kind), batch.get("coordinator_epoch").asInt());
            buffer.put(MemoryRecords.withEndTransactionMarker(
                offset, timestamp, leaderEpoch, producerId, epoch, marker).buffer());
        } else if (kind.equals("LEADER_CHANGE")) {
            buffer.put(MemoryRecords.withLeaderChangeMessage(offset, timestamp, leaderEpoch,
                ByteBuffer.allocate(256), new LeaderChangeMessage()).buffer());
        } else {
            buffer.put(data(batch, offset, timestamp, leaderEpoch, producerId, epoch));
        }
    }

    private static ByteBuffer data(
            JsonNode batch, long offset, long timestamp, int leaderEpoch, long producerId, short epoch) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 12);
        boolean appended = batch.get("is_log_append_time").asBoolean();
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(buffer, RecordBatch.MAGIC_VALUE_V2,
            Compression.of(batch.get("codec").asText()).build(),
            appended ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            offset, timestamp, producerId, epoch, batch.get("base_sequence").asInt(),
            batch.get("is_transactional").asBoolean(), false, leaderEpoch, buffer.capacity());
        for (JsonNode each : batch.get("kept")) {
            byte[] value = ("value-" + each.asLong()).getBytes(StandardCharsets.UTF_8);
            builder.appendWithOffset(each.asLong(), new SimpleRecord(timestamp, null, value));
        }
        // What compaction took from the end of a batch leaves its last offset as it was.
        builder.overrideLastOffset(batch.get("last_offset").asLong());
        return builder.build().buffer();
    }

    private static String state(JsonNode state) {
        short version = (short) state.get("version").asInt();
        TransactionLogKey key = new TransactionLogKey().setTransactionalId(state.get("transactional_id").asText());
        TransactionLogValue value = new TransactionLogValue()
            .setProducerId(state.get("producer_id").asLong())
            .setProducerEpoch((short) state.get("producer_epoch").asInt())
            .setTransactionTimeoutMs(state.get("timeout_ms").asInt())
            .setTransactionStatus((byte) state.get("status").asInt())
            .setTransactionLastUpdateTimestampMs(state.get("last_update_timestamp").asLong())
            .setTransactionStartTimestampMs(state.get("start_timestamp").asLong())
            .setTransactionPartitions(partitions(state.get("topic_partitions")));
        if (version > 0) {
            value.setPreviousProducerId(state.get("previous_producer_id").asLong())
                .setNextProducerId(state.get("next_producer_id").asLong())
                .setNextProducerEpoch((short) state.get("next_producer_epoch").asInt())
                .setClientTransactionVersion((short) state.get("client_transaction_version").asInt());
        }
        HexFormat hex = HexFormat.of();
        return hex.formatHex(MessageUtil.toVersionPrefixedBytes((short) 0, key)) + " "
            + hex.formatHex(MessageUtil.toVersionPrefixedBytes(version, value));
    }

    private static List<TransactionLogValue.PartitionsSchema> partitions(JsonNode topics) {
        if (topics.isNull()) {
            return null;
        }
        List<TransactionLogValue.PartitionsSchema> listed = new ArrayList<>();
        for (JsonNode topic : topics) {
            List<Integer> ids = new ArrayList<>();
            topic.get(1).forEach(each -> ids.add(each.asInt()));
            listed.add(new TransactionLogValue.PartitionsSchema().setTopic(topic.get(0).asText()).setPartitionIds(ids));
        }
        return listed;
    }
}
