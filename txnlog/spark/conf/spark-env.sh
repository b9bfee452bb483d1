# Read by Spark's own start scripts (bin/load-spark-env.sh), in bash, before they start the JVM.
#
# Spark starts its JVM with --add-modules=jdk.incubator.vector, about which the JVM warns on stderr at every start.
# No option turns that line off, so it is taken out on its way; everything else passes, line by line.
exec 2> >(
  while IFS= read -r line || [[ -n $line ]]; do
    [[ $line == "WARNING: Using incubator modules: jdk.incubator.vector" ]] || printf '%s\n' "$line" >&2
  done
)
# Spark puts this folder on the class path, and a folder with files in it rules out the archive of classes
# (txnlog/spark/archive.py): from here on, name the one that Spark would have used.
SPARK_CONF_DIR="${SPARK_HOME}/conf"
