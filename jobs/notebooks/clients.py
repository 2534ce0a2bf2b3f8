# Databricks notebook source
# MAGIC %md
# MAGIC # Kafka clients from the request log
# MAGIC Install the wheel on the cluster (or `%pip install` it), put broker logs on a volume, one folder per broker.
# MAGIC The tables go into a folder, or into a schema as `main.kafka`, where a build makes views of the common questions too.

# COMMAND ----------
import kafka_clientinfo
from kafka_clientinfo.engine import Warehouse

dbutils.widgets.text("logs", "/Volumes/main/kafka/logs")  # noqa: F821
dbutils.widgets.text("warehouse", "/Volumes/main/kafka/clientinfo")  # noqa: F821
logs, warehouse = (dbutils.widgets.get(name) for name in ("logs", "warehouse"))  # noqa: F821

# COMMAND ----------
settings = kafka_clientinfo.load_settings(cluster="orders")
report = kafka_clientinfo.run(spark, [logs], warehouse, settings)  # noqa: F821
print(report.tables)

# COMMAND ----------
lake = Warehouse(spark, warehouse)  # noqa: F821
for name in report.tables:
    lake.read(name).createOrReplaceTempView(name)

# COMMAND ----------
# MAGIC %sql
# MAGIC SELECT client_software_name, client_software_version, principal, count(*) AS connections, max(last_request_at) AS last_seen
# MAGIC FROM connections WHERE role = 'client' GROUP BY ALL ORDER BY connections DESC

# COMMAND ----------
# MAGIC %sql
# MAGIC SELECT severity, rule, message, example.grep FROM violations ORDER BY severity, occurrences DESC
