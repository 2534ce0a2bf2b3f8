# Databricks notebook source
# MAGIC %md
# MAGIC # Kafka clients from the request log
# MAGIC Install the wheel on the cluster (or `%pip install` it), put broker logs on a volume, one folder per broker.

# COMMAND ----------
import kafka_clientinfo

dbutils.widgets.text("logs", "/Volumes/main/kafka/logs")  # noqa: F821
dbutils.widgets.text("warehouse", "/Volumes/main/kafka/clientinfo")  # noqa: F821
logs, warehouse = (dbutils.widgets.get(name) for name in ("logs", "warehouse"))  # noqa: F821

# COMMAND ----------
settings = kafka_clientinfo.load_settings(cluster="orders")
report = kafka_clientinfo.run(spark, [logs], warehouse, settings)  # noqa: F821
print(report.tables)

# COMMAND ----------
for name in report.tables:
    spark.read.format("delta").load(f"{warehouse}/{name}").createOrReplaceTempView(name)  # noqa: F821

# COMMAND ----------
# MAGIC %sql
# MAGIC SELECT client_software_name, client_software_version, principal, count(*) AS connections, max(last_request_at) AS last_seen
# MAGIC FROM connections WHERE role = 'client' GROUP BY ALL ORDER BY connections DESC

# COMMAND ----------
# MAGIC %sql
# MAGIC SELECT severity, rule, message, example.grep FROM violations ORDER BY severity, occurrences DESC
