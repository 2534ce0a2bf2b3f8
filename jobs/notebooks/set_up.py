# Databricks notebook source
# MAGIC %md
# MAGIC # Set up
# MAGIC This notebook creates the schema and the volume for logs, reads the logs that are there, and checks the tables. It ends
# MAGIC before it reads if the volume is empty, and can run again at any time.
# MAGIC
# MAGIC The wheel must be installed: `make dist` builds it; add it to the environment of the notebook, or `%pip install` it from a
# MAGIC volume. Put the logs of each broker into a folder of their own below `logs`; the folder's name is the broker's.

# COMMAND ----------

dbutils.widgets.text("warehouse", "main.kafka_clientinfo", "Tables: catalog.schema, or a folder")
dbutils.widgets.text("volume", "main.kafka_clientinfo.logs", "Volume to make for logs: catalog.schema.volume; empty: none")
dbutils.widgets.text("logs", "", "Folder or glob of logs; empty: the volume")
dbutils.widgets.text("cluster", "default", "Name of the Kafka cluster")
dbutils.widgets.text("log_zone", "", "Time zone in which the brokers write; empty: of the settings, or UTC")
dbutils.widgets.text("conf", "", "File with settings, as --conf of the job names it; empty: none")

warehouse, volume, logs, cluster, log_zone, conf = (
    dbutils.widgets.get(name).strip() for name in ("warehouse", "volume", "logs", "cluster", "log_zone", "conf")
)
logs = logs or f"/Volumes/{volume.replace('.', '/')}"

# COMMAND ----------

# The catalog must exist: creating one needs rights on the metastore.
if volume:
    *schema, name = (f"`{part}`" for part in volume.split("."))
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(schema)}")
    spark.sql(f"CREATE VOLUME IF NOT EXISTS {'.'.join(schema)}.{name} COMMENT 'Request logs, a folder per broker'")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Read the logs
# MAGIC The first run takes the longest. Later runs, by the job `kafka_clientinfo hourly` of the bundle, read only new bytes.

# COMMAND ----------

import os

import kafka_clientinfo

if os.path.isdir(logs) and not any(files for _, _, files in os.walk(logs)):
    dbutils.notebook.exit(f"{logs} is empty: upload logs, one folder per broker, and run this notebook again.")

settings = kafka_clientinfo.load_settings(conf or None, cluster=cluster, log_zone=log_zone or None)
report = kafka_clientinfo.run(spark, [logs], warehouse, settings)
for problem in report.problems:
    print(f"{problem.kind}: {problem.path}: {problem.detail}")
display(spark.createDataFrame(sorted(report.tables.items()), "table string, rows bigint"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Check the tables

# COMMAND ----------

checks = kafka_clientinfo.verify(spark, warehouse)
rows = [(check.name, check.failed, check.requirement) for check in checks]
display(spark.createDataFrame(rows, "check string, rows_that_disagree bigint, requirement string"))
assert all(check.ok for check in checks), "rows disagree with a requirement; see the table above"
