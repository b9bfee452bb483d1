import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * Replays partitions as a broker does when it starts, and prints a line of JSON for each: what is open, what has ended,
 * the producers' states and the last stable offset.
 *
 * <p>`Replay LOG_DIR [take | load]`: `take` leaves the producer snapshot that a broker writes when it rolls a segment
 * before each one; `load` starts from the newest snapshot that the broker would accept. The steps are those of
 * `UnifiedLog.rebuildProducerState` and `LogSegment.updateProducerState`. Kafka before 4.3 has its records in another
 * package: the test puts that name in before it compiles.
 */
public final class Replay {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int NEVER = Integer.MAX_VALUE;

    private final Path directory;
    private final boolean takesSnapshots;
    private final ProducerStateManager states;
    private final ObjectNode line = JSON.createObjectNode();
    private long logStart = -1;
    private long logEnd = 0;

    private Replay(Path directory, boolean takesSnapshots) throws Exception {
        this.directory = directory;
        this.takesSnapshots = takesSnapshots;
        String name = directory.getFileName().toString();
        int dash = name.lastIndexOf('-');
        TopicPartition partition =
            new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
        states = new ProducerStateManager(partition, directory.toFile(), NEVER, config(), Time.SYSTEM);
        line.put("partition", partition.partition());
    }

    public static void main(String[] arguments) throws Exception {
        String mode = arguments.length > 1 ? arguments[1] : "";
        File[] directories = new File(arguments[0]).listFiles(File::isDirectory);
        Arrays.sort(directories);
        try (PrintWriter out = new PrintWriter(System.out)) {
            for (File each : directories) {
                out.println(new Replay(each.toPath(), mode.equals("take")).run(mode.equals("load")));
            }
        }
    }

    private String run(boolean load) throws Exception {
        List<Path> segments = segments();
        logStart = baseOffset(segments.get(0));
        for (Path segment : segments) {
            // A segment without a batch is where the next one goes, as LogSegment.readNextOffset has it.
            logEnd = baseOffset(segment);
            for (RecordBatch batch : batches(segment)) {
                logEnd = batch.lastOffset() + 1;
            }
        }
        if (load) {
            states.truncateAndReload(logStart, logEnd, 0);
        }
        line.put("loaded", load ? states.mapEndOffset() : -1);
        ArrayNode ended = line.putArray("ended");
        try {
            long from = load ? states.mapEndOffset() : logStart;
            for (Path segment : segments) {
                replay(segment, from, ended);
            }
            print();
        } catch (RuntimeException refused) {
            line.put("refused", refused.toString());
        }
        return line.toString();
    }

    private List<Path> segments() throws IOException {
        List<Path> found = new ArrayList<>();
        for (File each : directory.toFile().listFiles((folder, name) -> name.endsWith(".log"))) {
            found.add(each.toPath());
        }
        found.sort(null);
        return found;
    }

    private static long baseOffset(Path segment) {
        return Long.parseLong(segment.getFileName().toString().replace(".log", ""));
    }

    private static Iterable<? extends RecordBatch> batches(Path segment) throws IOException {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(segment))).batches();
    }

    private void replay(Path segment, long from, ArrayNode ended) throws Exception {
        if (takesSnapshots && baseOffset(segment) > logStart) {
            states.updateMapEndOffset(baseOffset(segment));
            // Without a wait for the disk.
            of(ProducerStateManager.class.getDeclaredMethod("takeSnapshot", boolean.class)).invoke(states, false);
        }
        for (RecordBatch batch : batches(segment)) {
            if (batch.lastOffset() < from) {
                continue;
            }
            batch.ensureValid();
            if (batch.hasProducerId()) {
                update(batch, ended);
            }
            states.updateMapEndOffset(batch.lastOffset() + 1);
        }
    }

    private void update(RecordBatch batch, ArrayNode ended) throws Exception {
        ProducerAppendInfo info = states.prepareUpdate(batch.producerId(), AppendOrigin.REPLICATION);
        Optional<CompletedTxn> completed = info.append(batch, Optional.empty());
        states.update(info);
        if (completed.isPresent()) {
            states.completeTxn(completed.get());
            ArrayNode one = ended.addArray();
            for (String name : List.of("producerId", "firstOffset", "lastOffset")) {
                one.add((long) field(completed.get(), name));
            }
            one.add((boolean) field(completed.get(), "isAborted"));
        }
    }

    private void print() throws Exception {
        ArrayNode open = line.putArray("open");
        ArrayNode producers = line.putArray("producers");
        for (ProducerStateEntry entry : states.activeProducers().values()) {
            long start = entry.currentTxnFirstOffset().orElse(-1);
            if (start >= 0) {
                open.addArray().add(entry.producerId()).add(start).add(entry.producerEpoch());
            }
            int sequence = (int) of(ProducerStateEntry.class.getDeclaredMethod("lastSeq")).invoke(entry);
            producers.addArray().add(entry.producerId()).add(entry.producerEpoch()).add(entry.coordinatorEpoch())
                .add(sequence).add(entry.lastTimestamp()).add(start);
        }
        // Where a transaction starts below the log start offset, UnifiedLog puts the last stable offset there.
        line.put("last_stable_offset", Math.max(states.firstUndecidedOffset().orElse(logEnd), logStart));
        line.put("log_end_offset", logEnd);
    }

    private static ProducerStateManagerConfig config() throws Exception {
        Constructor<?> constructor = ProducerStateManagerConfig.class.getConstructors()[0];
        Object made = constructor.getParameterCount() == 1
            ? constructor.newInstance(NEVER) : constructor.newInstance(NEVER, false);
        return (ProducerStateManagerConfig) made;
    }

    private static Object field(Object object, String name) throws Exception {
        Field field = object.getClass().getDeclaredField(name);
        return of(field).get(object);
    }

    private static <T extends AccessibleObject> T of(T member) {
        member.setAccessible(true);
        return member;
    }
}
