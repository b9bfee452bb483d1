import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;

/**
 * Writes records of `__consumer_offsets` as Kafka 4.3 or newer does.
 *
 * <p>`Groups types`: a line of JSON for each type, with its versions. `Groups write SEGMENT`: from lines of JSON with
 * `type`, `version`, `key` and `value` (null is a tombstone), in the form of Kafka's own JSON converters, a segment with
 * a record each; with `unknown`, the key's type is replaced by that number.
 */
public final class Groups {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String GENERATED = "org.apache.kafka.coordinator.group.generated.";

    private Groups() { }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("types")) {
            types();
            return;
        }
        List<SimpleRecord> records = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            records.add(record(JSON.readTree(line)));
        }
        try (FileOutputStream out = new FileOutputStream(arguments[1])) {
            MemoryRecords.withRecords(Compression.NONE, records.toArray(new SimpleRecord[0]))
                .writeFullyTo(out.getChannel());
        }
    }

    private static void types() {
        try (PrintWriter out = new PrintWriter(System.out)) {
            for (CoordinatorRecordType type : CoordinatorRecordType.values()) {
                out.println(JSON.createObjectNode().put("type", type.id()).put("name", type.name())
                    .put("lowest", type.lowestSupportedVersion()).put("highest", type.highestSupportedVersion()));
            }
        }
    }

    private static SimpleRecord record(JsonNode line) throws Exception {
        CoordinatorRecordType type = CoordinatorRecordType.fromId((short) line.get("type").asInt());
        ByteBuffer key = MessageUtil.toCoordinatorTypePrefixedByteBuffer(
            message(type.newRecordKey(), line.get("key"), (short) 0));
        if (line.has("unknown")) {
            key.putShort(0, (short) line.get("unknown").asInt());
        }
        short version = (short) line.get("version").asInt();
        ByteBuffer value = line.get("value").isNull() ? null
            : MessageUtil.toVersionPrefixedByteBuffer(version, message(type.newRecordValue(), line.get("value"), version));
        if (value != null && line.has("unknown_version")) {
            value.putShort(0, (short) line.get("unknown_version").asInt());
        }
        return new SimpleRecord(1700000000000L, key, value, new org.apache.kafka.common.header.Header[0]);
    }

    private static ApiMessage message(ApiMessage empty, JsonNode json, short version) throws Exception {
        Class<?> converter = Class.forName(GENERATED + empty.getClass().getSimpleName() + "JsonConverter");
        Method read = converter.getMethod("read", JsonNode.class, short.class);
        return (ApiMessage) read.invoke(null, json, version);
    }
}
