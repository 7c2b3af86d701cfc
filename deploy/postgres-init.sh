#!/bin/sh
# Runs once, on a new database volume: creates the logins and databases of the service and of Temporal.
# Afterwards no process connects as the superuser.
set -eu

password() { cat "/run/secrets/$1"; }

psql -v ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" \
  -v owner_password="$(password database_owner_password)" \
  -v service_password="$(password database_service_password)" \
  -v temporal_password="$(password temporal_database_password)" <<'SQL'
CREATE ROLE merchant_orders_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE merchant_orders_service LOGIN PASSWORD :'service_password';
CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE DATABASE merchant_orders OWNER merchant_orders_owner;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE merchant_orders, temporal, temporal_visibility FROM PUBLIC;
GRANT CONNECT ON DATABASE merchant_orders TO merchant_orders_service;
SQL
