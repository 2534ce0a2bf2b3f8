# Databricks notebook source
# MAGIC %md
# MAGIC # Hunting a misbehaving client
# MAGIC This notebook lists the clients that break rules, and then shows one client: its violations, its connections, how it
# MAGIC negotiated, and its last requests. Run it once with an empty `client_id`, choose one from the list, and run it again.

# COMMAND ----------

dbutils.widgets.text("warehouse", "", "Tables: catalog.schema, or a folder; the bundle's jobs give it")
dbutils.widgets.text("cluster", "", "Kafka cluster; empty: all")
dbutils.widgets.text("rule", "", "Rule; empty: all")
dbutils.widgets.text("client_id", "", "Client id; empty: the worst one")
dbutils.widgets.text("principal", "", "Principal; empty: any")
dbutils.widgets.text("wheel", "", "Wheel to install first, as a path; empty: the job's environment has it")

warehouse, cluster, rule, client_id, principal = (
    dbutils.widgets.get(name).strip() for name in ("warehouse", "cluster", "rule", "client_id", "principal")
)

if not warehouse:
    raise ValueError("the widget warehouse is empty: give catalog.schema of the tables, such as main.kafka_clientinfo_dev")
if wheel := dbutils.widgets.get("wheel").strip():
    get_ipython().run_line_magic("pip", f"install {wheel}")

# COMMAND ----------

from pyspark.sql import functions as F

import kafka_clientinfo

lake = kafka_clientinfo.Warehouse(spark, warehouse)


def chosen(table, **values):
    """Return the rows of a table with these values; an empty value means all."""
    for column, value in values.items():
        table = table.where(table[column] == value) if value else table
    return table


# Violations mostly name the client themselves; of the others, its connection does, if there is one.
key = ["cluster", "broker", "connection_id", "opened_at", "opened_seq"]
who = ["client_id", "principal", "client_software_name", "remote_host"]
of_connection = lake.read("connections").select(*key, F.struct(*who).alias("connection"))
named = chosen(lake.read("violations"), cluster=cluster, rule=rule).join(of_connection, on=key, how="left")
for name in who:
    named = named.withColumn(name, F.coalesce(name, f"connection.{name}"))
violations = chosen(named, principal=principal)
connections = chosen(lake.read("connections"), cluster=cluster, principal=principal)
violations.createOrReplaceTempView("violations")
chosen(lake.read("requests"), cluster=cluster).createOrReplaceTempView("requests")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The worst clients
# MAGIC Sorted by the number of rules that they may have broken, then by the number of requests that break them. Violations that
# MAGIC blame a broker or nobody are left out. The rows without a client id hold violations of a whole group, and those that only a
# MAGIC server.log shows, such as failed logins: it names hosts, and at most a principal.

# COMMAND ----------

worst = spark.sql("""
    SELECT client_id, principal, client_software_name, count(DISTINCT rule) AS rules, sum(occurrences) AS requests,
           array_sort(collect_set(rule)) AS rule_names, array_sort(collect_set(remote_host)) AS hosts, max(last_at) AS last_at
    FROM violations
    WHERE blames IN ('client', 'either')
    GROUP BY client_id, principal, client_software_name
    ORDER BY rules DESC, requests DESC
    LIMIT 50
    """)
display(worst)

# COMMAND ----------

if not client_id:
    first = worst.where("client_id <> ''").first()
    client_id = first["client_id"] if first else ""
print(f"client id {client_id!r}")

chosen(connections, client_id=client_id).createOrReplaceTempView("connections_of_the_client")
chosen(violations, client_id=client_id).createOrReplaceTempView("violations_of_the_client")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Its violations, and whom they blame
# MAGIC `grep -E "$grep" kafka-request.log` on the broker finds the example.

# COMMAND ----------

display(
    spark.sql("""
        SELECT severity, blames, rule, kip, sum(occurrences) AS requests, sum(rejected) AS rejected,
               count(DISTINCT cluster, broker, connection_id) AS connection_ids,
               min(first_at) AS first_at, max(last_at) AS last_at, first(message) AS message,
               first(broker) AS broker, first(example.grep) AS grep
        FROM violations_of_the_client
        GROUP BY severity, blames, rule, kip ORDER BY requests DESC
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Its connections
# MAGIC How each began, what it negotiated, and whether client id, instance id and software name stayed the same.

# COMMAND ----------

display(
    spark.sql("""
        SELECT cluster, broker, remote_host, opened_at, last_request_at, requests, start, api_versions_outcome, fallback_kind,
               client_software_name, client_software_version, reason_unknown, invalid_software_texts,
               client_id_verdict, other_client_ids, instance_id_verdict, policy_verdict
        FROM connections_of_the_client ORDER BY opened_at DESC LIMIT 200
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## When
# MAGIC Its connections per hour, and those on which it broke a rule.

# COMMAND ----------

import matplotlib.pyplot as plt

hours = spark.sql("""
    SELECT date_trunc('HOUR', c.opened_at) AS hour, count(*) AS connections, count_if(v.broken) AS with_violations
    FROM connections_of_the_client AS c
    LEFT JOIN (SELECT DISTINCT cluster, broker, connection_id, opened_at, opened_seq, true AS broken FROM violations) AS v
    USING (cluster, broker, connection_id, opened_at, opened_seq)
    GROUP BY hour ORDER BY hour
""").collect()
figure, axes = plt.subplots(figsize=(9, 3))
axes.plot([row["hour"] for row in hours], [row["connections"] for row in hours], marker="o", label="connections")
axes.plot([row["hour"] for row in hours], [row["with_violations"] for row in hours], marker="x", label="with violations")
axes.legend()
figure.autofmt_xdate()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Its last requests
# MAGIC As the broker logged them; `request` has the body, for control APIs only.

# COMMAND ----------

display(
    spark.sql("""
        SELECT r.logged_at, r.broker, r.connection_id, r.api_name, r.api_version, r.client_id, r.client_software_name,
               r.error_code, r.total_time_ms, r.request
        FROM requests AS r
        LEFT SEMI JOIN connections_of_the_client AS c
        ON r.cluster = c.cluster AND r.broker = c.broker AND r.connection_id = c.connection_id
           AND r.logged_at BETWEEN c.opened_at AND c.last_request_at
        ORDER BY r.logged_at DESC, r.correlation_id DESC
        LIMIT 100
    """)
)
