# Databricks notebook source
# MAGIC %md
# MAGIC # First look
# MAGIC Who connects to the brokers, with which software, how clients negotiate, and which rules they break. The notebook `set_up`
# MAGIC makes the tables.

# COMMAND ----------

dbutils.widgets.text("warehouse", "", "Tables: catalog.schema, or a folder; the bundle's jobs give it")
dbutils.widgets.text("cluster", "", "Kafka cluster; empty: all")
dbutils.widgets.text("wheel", "", "Wheel to install first, as a path; empty: the job's environment has it")

warehouse, cluster = (dbutils.widgets.get(name).strip() for name in ("warehouse", "cluster"))

if not warehouse:
    raise ValueError("the widget warehouse is empty: give catalog.schema of the tables, such as main.kafka_clientinfo_dev")
if wheel := dbutils.widgets.get("wheel").strip():
    get_ipython().run_line_magic("pip", f"install {wheel}")

# COMMAND ----------

import kafka_clientinfo

lake = kafka_clientinfo.Warehouse(spark, warehouse)
for name in ("ingested_files", "connections", "client_connections", "violations"):
    table = lake.read(name)
    (table.where(table["cluster"] == cluster) if cluster else table).createOrReplaceTempView(name)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What was read
# MAGIC The answers below do not cover the clients of a broker without a log here, or with a log at INFO (which has only requests
# MAGIC of deprecated versions).

# COMMAND ----------

display(
    spark.sql("""
        SELECT cluster, broker, count(*) AS files, min(first_logged_at) AS first, max(last_logged_at) AS last,
               sum(requests) AS requests, sum(rejected) AS unreadable, count(damage) AS damaged_files
        FROM ingested_files
        GROUP BY cluster, broker ORDER BY cluster, broker
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Software
# MAGIC `unknown` means that the broker knows no name of the software; the table below the figure says why.

# COMMAND ----------

import matplotlib.pyplot as plt

software = spark.sql("""
    SELECT client_software_name AS name, count(*) AS connections, count(DISTINCT struct(principal, client_id)) AS clients
    FROM connections
    WHERE role = 'client'
    GROUP BY name ORDER BY connections DESC LIMIT 15
""").collect()
figure, axes = plt.subplots(figsize=(9, 4))
axes.barh([row["name"][:40] for row in software], [row["connections"] for row in software])
axes.invert_yaxis()
axes.set_xlabel("connections")
figure.tight_layout()
display(figure)

# COMMAND ----------

display(
    spark.sql("""
        SELECT reason_unknown, count(*) AS connections, count(DISTINCT client_id) AS client_ids,
               array_sort(collect_set(principal)) AS principals
        FROM connections
        WHERE client_software_name = 'unknown' AND role = 'client'
        GROUP BY reason_unknown ORDER BY connections DESC
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Open connections over time
# MAGIC What the gauge of KIP-511 shows, summed over the brokers.

# COMMAND ----------

gauge = spark.sql("""
    SELECT bucket, client_software_name AS name, sum(open_max) AS open
    FROM client_connections
    WHERE role = 'client'
    GROUP BY bucket, name ORDER BY bucket, name
""").collect()
figure, axes = plt.subplots(figsize=(9, 4))
for name in sorted({row["name"] for row in gauge}):
    of_name = [row for row in gauge if row["name"] == name]
    axes.plot([row["bucket"] for row in of_name], [row["open"] for row in of_name], marker="o", label=name[:40])
axes.set_ylabel("open connections, most at one time")
if gauge:
    axes.legend(fontsize="small", ncols=2)
figure.autofmt_xdate()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Negotiation (KIP-35)

# COMMAND ----------

outcomes = spark.sql("""
    SELECT api_versions_outcome AS outcome, count(*) AS connections
    FROM connections
    WHERE role = 'client'
    GROUP BY outcome ORDER BY connections DESC
""").collect()
figure, axes = plt.subplots(figsize=(9, 3))
axes.barh([row["outcome"] for row in outcomes], [row["connections"] for row in outcomes])
axes.invert_yaxis()
axes.set_xlabel("connections")
figure.tight_layout()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What stands out
# MAGIC The notebook `misbehaving_client` shows more about one client.

# COMMAND ----------

display(
    spark.sql("""
        SELECT severity, blames, rule, kip, count(*) AS connections_or_groups, sum(occurrences) AS requests,
               sum(rejected) AS rejected, max(last_at) AS last_at
        FROM violations
        GROUP BY severity, blames, rule, kip
        ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, requests DESC
    """)
)
