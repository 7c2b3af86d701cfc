<?php

declare(strict_types=1);

/**
 * Verifies a webhook: in a request, the raw body is file_get_contents('php://input'), and the headers are
 * $_SERVER['HTTP_X_SERVICE_TIMESTAMP'] ?? '' and $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? ''.
 *
 * @param string[] $secrets the secret of the endpoint; during a rotation the new and the old one
 * @param ?int $now seconds since 1970; the present time if null
 * @return ?array the event; null if it must not be believed: answer it with 401
 */
function verify(string $rawBody, string $timestamp, string $signature, array $secrets, ?int $now = null): ?array
{
    if (preg_match('/^[0-9]{1,12}$/D', $timestamp) !== 1) {
        return null;
    }
    $fits = false;
    foreach ($secrets as $secret) {
        // An empty secret, such as that of an unset variable, would let everybody sign.
        $expected = hash_hmac('sha256', "$timestamp.$rawBody", $secret);
        $fits = ($secret !== '' && hash_equals($expected, $signature)) || $fits;
    }
    if (!$fits || abs(($now ?? time()) - (int) $timestamp) > 300) {
        return null;
    }
    return json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
}

// What follows compares it with the vectors: php verify.php ../test-vectors.json
$vectors = json_decode(file_get_contents($argv[1]), true, 512, JSON_THROW_ON_ERROR);
$wrong = 0;
foreach ($vectors['webhooks'] as $vector) {
    $headers = $vector['headers'];
    $timestamp = $headers['x-service-timestamp'] ?? '';
    $signature = $headers['x-service-signature'] ?? '';
    $event = verify($vector['body'], $timestamp, $signature, $vector['secrets'], $vector['nowSeconds']);
    if (($event['event_id'] ?? null) !== ($vector['expect']['eventId'] ?? null)) {
        echo "{$vector['name']}: not as expected\n";
        $wrong += 1;
    }
}
echo count($vectors['webhooks']), " vectors, $wrong wrong\n";
exit($wrong === 0 ? 0 : 1);
