"""What people write in TOML, read and checked: settings, policy, owners, severities of rules, patterns."""
