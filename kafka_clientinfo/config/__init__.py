"""What people write in TOML, read and checked: settings, policy, owners, severities of rules, patterns.

The defaults, Spark's memory among them, stand in conf/local.toml; the texts of the rules in schemas/rules.
"""
