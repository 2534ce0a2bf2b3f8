# Databricks notebook source
# MAGIC %md
# MAGIC # Upgrade readiness
# MAGIC Which clients would break at another release of Kafka, and under which principals. A verdict compares the versions that a
# MAGIC client used with those that brokers of the release accept.

# COMMAND ----------

dbutils.widgets.text("warehouse", "", "Tables: catalog.schema, or a folder; the bundle's jobs give it")
dbutils.widgets.text("cluster", "", "Kafka cluster; empty: all")
dbutils.widgets.text("target", "4.0.1", "Release of Kafka")
dbutils.widgets.text("wheel", "", "Wheel to install first, as a path; empty: the job's environment has it")

warehouse, cluster, target = (
    dbutils.widgets.get(name).strip() for name in ("warehouse", "cluster", "target")
)

if not warehouse:
    raise ValueError("the widget warehouse is empty: give catalog.schema of the tables, such as main.kafka_clientinfo_dev")
if wheel := dbutils.widgets.get("wheel").strip():
    get_ipython().run_line_magic("pip", f"install {wheel}")

# COMMAND ----------

import kafka_clientinfo
from kafka_clientinfo.releases.broker_releases import release, releases

target = release(target).name  # the nearest measured one; raises for an unknown release, and names the known ones
table = kafka_clientinfo.Warehouse(spark, warehouse).read("upgrade_impact")
table = table.where(table["cluster"] == cluster) if cluster else table
at_target = {name: table[f"{name}_by"][target] for name in ("refused", "deprecated", "undecided")}
table.withColumns(at_target).createOrReplaceTempView("upgrade_impact")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Verdict per client
# MAGIC A client is a principal, client id and software. Its verdict is the worst one of its versions: `refused` (it would break),
# MAGIC `deprecated` (it works there, but not with a later release), `undecided` (it cannot be judged) or `accepted`.

# COMMAND ----------

verdicts = spark.sql("""
    SELECT cluster, principal, client_id, client_software_name, client_software_version,
           CASE max(CASE WHEN refused IS NOT NULL THEN 3 WHEN deprecated IS NOT NULL THEN 2
                         WHEN undecided IS NOT NULL THEN 1 ELSE 0 END)
               WHEN 3 THEN 'refused' WHEN 2 THEN 'deprecated' WHEN 1 THEN 'undecided' ELSE 'accepted' END AS verdict
    FROM upgrade_impact
    GROUP BY ALL
    """)
display(verdicts.groupBy("verdict").count().orderBy("verdict"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who breaks
# MAGIC One row per client and API, those with the most requests first. `reason` says why the release refuses the versions.

# COMMAND ----------

broken = spark.sql("""
    SELECT cluster, principal, client_id, client_software_name, client_software_version, api_name,
           array_sort(collect_set(api_version)) AS versions, sum(requests) AS requests,
           array_sort(array_distinct(flatten(collect_list(host_list)))) AS host_list, max(last_seen) AS last_seen,
           array_sort(collect_set(refused)) AS reason
    FROM upgrade_impact
    WHERE refused IS NOT NULL
    GROUP BY cluster, principal, client_id, client_software_name, client_software_version, api_name
    ORDER BY requests DESC
    """)
display(broken)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Whom to ask
# MAGIC The principals of the requests that break; a principal is the account with which a client logs in.

# COMMAND ----------

display(
    spark.sql("""
        SELECT cluster, principal, count(DISTINCT client_id) AS client_ids, sum(requests) AS requests,
               array_sort(collect_set(api_name)) AS apis
        FROM upgrade_impact
        WHERE refused IS NOT NULL
        GROUP BY cluster, principal ORDER BY requests DESC
    """)
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Every release
# MAGIC The number of clients that would break at each release, up or down.

# COMMAND ----------

import matplotlib.pyplot as plt

at_release = {
    row["release"]: row["clients"]
    for row in spark.sql("""
        SELECT release, count(DISTINCT struct(cluster, principal, client_id, client_software_name, client_software_version)) AS clients
        FROM upgrade_impact LATERAL VIEW explode(refused_by) refused AS release, reason
        GROUP BY release
    """).collect()
}
names = list(releases())
figure, axes = plt.subplots(figsize=(10, 4))
axes.bar(names, [at_release.get(name, 0) for name in names])
axes.set_ylabel("clients that break")
axes.tick_params(axis="x", rotation=90)
figure.tight_layout()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What cannot be judged
# MAGIC Whether these break depends on facts that neither the log nor the release shows.

# COMMAND ----------

display(
    spark.sql("""
        SELECT undecided AS reason, api_name, count(DISTINCT client_id) AS client_ids, sum(requests) AS requests
        FROM upgrade_impact
        WHERE undecided IS NOT NULL
        GROUP BY reason, api_name ORDER BY requests DESC
    """)
)
