#!/bin/sh
# Runs once, on a new database volume: creates the logins and databases of the service and of Temporal.
# Afterwards no process connects as the superuser.
set -eu

psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" \
  -v owner_password="$DATABASE_OWNER_PASSWORD" \
  -v service_password="$DATABASE_SERVICE_PASSWORD" \
  -v temporal_password="$TEMPORAL_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE merchant_orders_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE merchant_orders_service LOGIN PASSWORD :'service_password';
CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE DATABASE merchant_orders OWNER merchant_orders_owner;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE merchant_orders, temporal, temporal_visibility FROM PUBLIC;
GRANT CONNECT ON DATABASE merchant_orders TO merchant_orders_service;
SQL
