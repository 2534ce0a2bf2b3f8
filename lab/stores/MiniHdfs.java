import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Runs a name node and a data node on this machine: {@code java -cp … MiniHdfs.java FOLDER PORT}. */
class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf, new File(arguments[0]))
                .nameNodePort(Integer.parseInt(arguments[1]))
                .numDataNodes(1)
                .build();
        cluster.waitClusterUp();
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
