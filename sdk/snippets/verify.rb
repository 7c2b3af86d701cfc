# frozen_string_literal: true

require "json"
require "openssl"

# Verifies a webhook: in Rack, the raw body is request.body.read, and the headers are
# request.get_header("HTTP_X_SERVICE_TIMESTAMP") and request.get_header("HTTP_X_SERVICE_SIGNATURE").
#
# secrets: the secret of the endpoint; during a rotation the new and the old one
# now: seconds since 1970
#
# Returns the event; nil if it must not be believed: answer it with 401.
def verify(raw_body, timestamp, signature, secrets, now: Time.now.to_i)
  return unless /\A[0-9]{1,12}\z/.match?(timestamp.to_s)
  return unless /\A[0-9a-f]{64}\z/.match?(signature.to_s)

  # An empty secret, such as that of an unset variable, would let everybody sign.
  results = secrets.reject(&:empty?).map do |secret|
    expected = OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.".b + raw_body.b)
    OpenSSL.fixed_length_secure_compare(expected, signature)
  end
  return if results.none? || (now - timestamp.to_i).abs > 300

  JSON.parse(raw_body)
end

# What follows compares it with the vectors: ruby verify.rb ../test-vectors.json
vectors = JSON.parse(File.read(ARGV.fetch(0), encoding: "UTF-8")).fetch("webhooks")
wrong = vectors.reject do |vector|
  timestamp, signature = vector["headers"].values_at("x-service-timestamp", "x-service-signature")
  event = verify(vector["body"], timestamp, signature, vector["secrets"], now: vector["nowSeconds"])
  event&.fetch("event_id") == vector["expect"]["eventId"]
end
wrong.each { |vector| puts "#{vector["name"]}: not as expected" }
puts "#{vectors.size} vectors, #{wrong.size} wrong"
exit wrong.empty?
