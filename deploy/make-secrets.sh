#!/bin/sh
# Makes the secret files of docker-compose.yml that do not exist yet, and changes none that does.
#
#   deploy/make-secrets.sh             for production: the operator fills in SMTP and the gateways
#   deploy/make-secrets.sh --sandbox   for a laptop: with the simulator and the mailbox
#
# SECRETS_DIR is the folder; the default is deploy/secrets, which git ignores.
set -eu
umask 077

sandbox=false
[ "${1:-}" = --sandbox ] && sandbox=true
folder=${SECRETS_DIR:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"

# Only this user can enter the folder; in the containers the files must be readable by theirs.
keep() {
  [ -e "$1" ] || { cat > "$1.new" && chmod 444 "$1.new" && mv "$1.new" "$1" && echo "made $1"; }
}
random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
random_base64() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }
url() { echo "postgres://$1:$(cat "$2")@postgres:5432/merchant_orders"; }
# bcrypt, by what there is.
hash() {
  if command -v caddy > /dev/null; then caddy hash-password --bcrypt-cost 12
  elif command -v htpasswd > /dev/null; then htpasswd -niBC 12 '' | cut -d: -f2 | head -1
  else docker run --rm -i caddy:2.11.4-alpine caddy hash-password --bcrypt-cost 12
  fi
}

for name in postgres_password database_owner_password database_service_password temporal_database_password; do
  random 24 | keep "$name"
done
url merchant_orders_service database_service_password | keep database_url
url merchant_orders_owner database_owner_password | keep migration_database_url
random 32 | keep api_secret_pepper
for name in webhook_secret_keys data_encryption_keys; do
  echo "$(date +%Y-%m-%d):$(random_base64)" | keep "$name"
done

if $sandbox; then
  echo 'smtp://mailbox:1025?ignoreTLS=true' | keep smtp_url
  random 16 | keep sandbox_razorpay_key_secret
  random 16 | keep sandbox_razorpay_webhook_secret
fi
# Empty: not set.
for name in smtp_url sandbox_razorpay_key_secret sandbox_razorpay_webhook_secret \
  production_razorpay_key_secret production_razorpay_webhook_secret; do
  keep "$name" < /dev/null
done

if [ ! -e temporal_ui_users ]; then
  { random 12; echo; } > temporal_ui_password
  hashed=$(hash < temporal_ui_password)
  [ -n "$hashed" ] || { echo 'No bcrypt hash: install Caddy, htpasswd or Docker' >&2; exit 1; }
  echo "operator $hashed" | keep temporal_ui_users
  echo "The Temporal Web UI's user is operator, its password is in $(pwd)/temporal_ui_password"
fi
