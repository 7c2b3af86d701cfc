#!/bin/sh
# Makes the secrets that do not exist yet, and changes none that does. docker-compose.yml runs it before
# everything else. Each kind of container has a folder, which it mounts at /run/secrets.
set -eu
umask 077
cd "${1:-/secrets}"

keep() {
  [ -e "$1" ] || { cat > "$1.new" && chmod 444 "$1.new" && mv "$1.new" "$1" && echo "made $1"; }
}
random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
encryption_keys() { echo "$(date +%Y-%m-%d):$(head -c 32 /dev/urandom | base64 | tr -d '\n')"; }
url() { echo "postgres://$1:$(cat "postgres/$2")@postgres:5432/merchant_orders"; }

# On the host only root can enter the folder; in the containers the files must be readable by their users.
chmod 700 .
mkdir -p service migration postgres temporal proxy
chmod 755 service migration postgres temporal proxy

for name in postgres_password database_owner_password database_service_password temporal_database_password; do
  random 24 | keep "postgres/$name"
done
keep temporal/temporal_database_password < postgres/temporal_database_password
url merchant_orders_owner database_owner_password | keep migration/migration_database_url
url merchant_orders_service database_service_password | keep migration/database_url
keep service/database_url < migration/database_url
random 32 | keep service/api_secret_pepper
encryption_keys | keep service/webhook_secret_keys
encryption_keys | keep service/data_encryption_keys
random 12 | keep proxy/temporal_ui_password

if [ "${SANDBOX:-}" = true ]; then
  echo 'smtp://mailbox:1025?ignoreTLS=true' | keep service/smtp_url
  random 16 | keep service/sandbox_razorpay_key_secret
  random 16 | keep service/sandbox_razorpay_webhook_secret
fi
# Empty: the operator fills them in.
for name in smtp_url sandbox_razorpay_key_secret sandbox_razorpay_webhook_secret \
  production_razorpay_key_secret production_razorpay_webhook_secret; do
  keep "service/$name" < /dev/null
done
