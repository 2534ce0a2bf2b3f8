# Databricks notebook source
# MAGIC %md
# MAGIC # What KIP-1313's caching of client ids would save
# MAGIC Today every request carries its client id. With header v3 a client sends it once per connection, and 16 bytes of client
# MAGIC instance id with every request. The figures are bytes of request headers, which a broker receives and does not store.

# COMMAND ----------

dbutils.widgets.text("warehouse", "", "Tables: catalog.schema, or a folder; the bundle's jobs give it")
dbutils.widgets.text("cluster", "", "Kafka cluster; empty: all")
dbutils.widgets.text("clients", "20", "Clients to show")
dbutils.widgets.text("wheel", "", "Wheel to install first, as a path; empty: the job's environment has it")

warehouse, cluster, clients = (
    dbutils.widgets.get(name).strip() for name in ("warehouse", "cluster", "clients")
)

if not warehouse:
    raise ValueError("the widget warehouse is empty: give catalog.schema of the tables, such as main.kafka_clientinfo_dev")
if wheel := dbutils.widgets.get("wheel").strip():
    get_ipython().run_line_magic("pip", f"install {wheel}")

# COMMAND ----------

import kafka_clientinfo

lake = kafka_clientinfo.Warehouse(spark, warehouse)
for name in ("connections",):
    table = lake.read(name)
    (table.where(table["cluster"] == cluster) if cluster else table).createOrReplaceTempView(name)

# COMMAND ----------

# MAGIC %md
# MAGIC ## All clients
# MAGIC `saved` is the bytes of client ids after the first request of a connection; `spent` is the bytes of instance ids.

# COMMAND ----------

display(
    spark.sql("""
        SELECT cluster, count(*) AS connections, sum(requests) AS requests, sum(client_id_redundant_bytes) AS saved,
               sum(instance_id_bytes) AS spent, sum(client_id_redundant_bytes) - sum(instance_id_bytes) AS net,
               sum(client_id_redundant_bytes) / sum(requests) AS saved_per_request
        FROM connections
        WHERE role = 'client'
        GROUP BY cluster ORDER BY cluster
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Per client
# MAGIC Long client ids on long connections save the most; short client ids on short connections cost more than they save.

# COMMAND ----------

per_client = spark.sql("""
    SELECT client_id, client_software_name, count(*) AS connections, sum(requests) AS requests,
           octet_length(client_id) AS client_id_bytes, sum(client_id_redundant_bytes) AS saved, sum(instance_id_bytes) AS spent
    FROM connections
    WHERE role = 'client' AND client_id <> ''
    GROUP BY client_id, client_software_name
    ORDER BY saved DESC
    """).limit(int(clients))
display(per_client)

# COMMAND ----------

import matplotlib.pyplot as plt

shown = per_client.collect()
labels = [f"{row['client_id'][:40]} ({row['client_software_name']})" for row in shown]
figure, axes = plt.subplots(figsize=(9, 1 + len(shown) / 4))
axes.barh(labels, [row["saved"] for row in shown], label="saved")
axes.barh(labels, [-row["spent"] for row in shown], label="spent on instance ids")
axes.invert_yaxis()
axes.set_xlabel("bytes")
axes.legend()
figure.tight_layout()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who must change
# MAGIC Clients that send a client id after the first request, which the KIP asks them not to do: `unchanged` repeats it, `changed`
# MAGIC sends another one.

# COMMAND ----------

display(
    spark.sql("""
        SELECT client_software_name, client_software_version, client_id_verdict, count(*) AS connections,
               sum(client_id_redundant_bytes) AS saved
        FROM connections
        WHERE role = 'client'
        GROUP BY ALL ORDER BY saved DESC
    """)
)
