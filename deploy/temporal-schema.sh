#!/bin/sh
# Brings the schema of Temporal's two databases up to the version of this tool. Safe to repeat.
set -eu

for database in temporal temporal_visibility; do
  schema=postgresql/v12/temporal
  [ "$database" = temporal_visibility ] && schema=postgresql/v12/visibility
  tool="temporal-sql-tool --plugin postgres12_pgx --db $database"
  # Only a new database lacks the table of versions, which `update-schema` reads.
  $tool update-schema --schema-name "$schema" 2>/dev/null && continue
  $tool setup-schema -v 0.0
  $tool update-schema --schema-name "$schema"
done
