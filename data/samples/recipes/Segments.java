import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import COMPRESSION_CLASS;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;

/** Writes one segment with the release's own MemoryRecords: what producers and coordinators put into a log. */
public class Segments {
    static final long NOW = 1_700_000_000_000L;
    static FileChannel out;
    static long offset = 0;

    public static void main(String[] arguments) throws Exception {
        try (FileOutputStream file = new FileOutputStream(arguments[0])) {
            out = file.getChannel();
            COMPRESSION_TYPE[] codecs = {COMPRESSIONS};
            for (COMPRESSION_TYPE codec : codecs) {
                transactional(codec, 7, 1, (int) offset, "one", "two", "three");
            }
            marker(7, 1, ControlRecordType.COMMIT, 5);
            transactional(codecs[0], 8, 0, 0, "aborted");
            marker(8, 1, ControlRecordType.ABORT, 6);
            batch(codecs[0], 9, 0, 0, false, record("idempotent"));
            Header[] headers = {new RecordHeader("trace", new byte[] {1}), new RecordHeader("span", new byte[0])};
            SimpleRecord plain =
                new SimpleRecord(NOW, "key".getBytes("UTF-8"), "two\nlines".getBytes("UTF-8"), headers);
            batch(codecs[0], -1, -1, -1, false, plain);
            transactional(codecs[0], 7, 1, 99, "open");
        }
    }

    static void transactional(COMPRESSION_TYPE codec, long producerId, int epoch, int sequence, String... values)
            throws Exception {
        SimpleRecord[] records = new SimpleRecord[values.length];
        for (int index = 0; index < values.length; index++) {
            records[index] = record(values[index]);
        }
        batch(codec, producerId, epoch, sequence, true, records);
    }

    static void batch(COMPRESSION_TYPE codec, long producerId, int epoch, int sequence, boolean isTransactional,
            SimpleRecord... records) throws Exception {
        put(MemoryRecords.withRecords(
            RecordBatch.MAGIC_VALUE_V2, offset, codec, TimestampType.CREATE_TIME, producerId, (short) epoch, sequence,
            2, isTransactional, records), records.length);
    }

    static void marker(long producerId, int epoch, ControlRecordType type, int coordinatorEpoch) throws Exception {
        put(MemoryRecords.withEndTransactionMarker(
            offset, NOW, 2, producerId, (short) epoch, new EndTransactionMarker(type, coordinatorEpoch)), 1);
    }

    static SimpleRecord record(String value) throws Exception {
        return new SimpleRecord(NOW + offset, ("key of " + value).getBytes("UTF-8"), value.getBytes("UTF-8"));
    }

    static void put(MemoryRecords records, int count) throws Exception {
        ByteBuffer buffer = records.buffer().duplicate();
        while (buffer.hasRemaining()) {
            out.write(buffer);
        }
        offset += count;
    }
}
