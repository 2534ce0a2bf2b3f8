# Databricks notebook source
# MAGIC %md
# MAGIC # Set up
# MAGIC This notebook creates the schema, the volume for logs and a folder per cluster, reads the logs that are there, and checks
# MAGIC the tables. While there are none it ends in a sentence that says so, and it can run again at any time.
# MAGIC
# MAGIC `databricks bundle run clientinfo_set_up` runs it with the bundle's wheel, catalog and schema. Opened by hand, give its widgets
# MAGIC the same values, and the wheel's path in `wheel`. The logs of a broker go into a folder of their own below that of their cluster:
# MAGIC `logs/CLUSTER/BROKER/`; the folder's name is the broker's.

# COMMAND ----------

dbutils.widgets.text("warehouse", "", "Tables: catalog.schema, or a folder; the bundle's jobs give it")
dbutils.widgets.text("volume", "", "Volume to make for logs: catalog.schema.volume; empty: none")
dbutils.widgets.text("logs", "", "Folder with a folder of logs per cluster")
dbutils.widgets.text("clusters", '["default"]', "Names of the Kafka clusters, as a JSON array")
dbutils.widgets.text("log_zone", "", "Time zone in which the brokers write; empty: of the settings, or UTC")
dbutils.widgets.text("conf", "", "File with settings, as --conf of the job names it; empty: none")
dbutils.widgets.text("wheel", "", "Wheel to install first, as a path; empty: the job's environment has it")

warehouse, volume, logs, clusters, log_zone, conf = (
    dbutils.widgets.get(name).strip() for name in ("warehouse", "volume", "logs", "clusters", "log_zone", "conf")
)
if not warehouse or not logs:
    raise ValueError("give warehouse (catalog.schema, such as main.kafka_clientinfo_dev) and logs (/Volumes/catalog/schema/logs)")
if wheel := dbutils.widgets.get("wheel").strip():
    get_ipython().run_line_magic("pip", f"install {wheel}")

# COMMAND ----------

import json
import os

# The catalog must exist: creating one needs rights on the metastore.
if volume:
    *schema, name = (f"`{part}`" for part in volume.split("."))
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(schema)}")
    spark.sql(f"CREATE VOLUME IF NOT EXISTS {'.'.join(schema)}.{name} COMMENT 'Request logs, a folder per cluster and broker'")
folders = {cluster: f"{logs.rstrip('/')}/{cluster}" for cluster in json.loads(clusters)}
for folder in folders.values():
    os.makedirs(folder, exist_ok=True)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Read the logs
# MAGIC The first run takes the longest. Later runs, by the job `kafka_clientinfo hourly` of the bundle, read only new bytes.

# COMMAND ----------

import kafka_clientinfo

for cluster, folder in folders.items():
    settings = kafka_clientinfo.load_settings(conf or None, cluster=cluster, log_zone=log_zone or None)
    report = kafka_clientinfo.run(spark, [folder], warehouse, settings)
    for problem in report.problems:
        print(f"{problem.kind}: {problem.path}: {problem.detail}")
if not report.tables:
    dbutils.notebook.exit(f"Nothing yet: upload logs to {logs.rstrip('/')}/CLUSTER/BROKER/, and run this again.")
display(spark.createDataFrame(sorted(report.tables.items()), "table string, rows bigint"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Check the tables

# COMMAND ----------

checks = kafka_clientinfo.verify(spark, warehouse)
rows = [(check.name, check.failed, check.requirement) for check in checks]
display(spark.createDataFrame(rows, "check string, rows_that_disagree bigint, requirement string"))
assert all(check.ok for check in checks), "rows disagree with a requirement; see the table above"
