#!/bin/sh
# Migrates the schema of Temporal's two databases to the version of this tool. Idempotent.
set -eu

SQL_PASSWORD=$(cat /run/secrets/temporal_database_password)
export SQL_PASSWORD

for database in temporal temporal_visibility; do
  schema=postgresql/v12/temporal
  [ "$database" = temporal_visibility ] && schema=postgresql/v12/visibility
  tool="temporal-sql-tool --plugin postgres12_pgx --db $database"
  # `update-schema` fails on a new database, which has no version table yet.
  $tool update-schema --schema-name "$schema" 2>/dev/null && continue
  $tool setup-schema -v 0.0
  $tool update-schema --schema-name "$schema"
done
