#!/usr/bin/env bash
# Makes the service's role and database when the volume of the database is new: the image of PostgreSQL runs this once. The role is
# no superuser, so that row-level security holds it.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --set password="$STAYLEDGER_DATABASE_PASSWORD" --username postgres <<'SQL'
create role stayledger login password :'password';
create database stayledger owner stayledger;
SQL
