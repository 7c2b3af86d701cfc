import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies webhooks, with Java 17 and later. */
public final class Verify {
  private static final long TOLERANCE_SECONDS = 300;

  /**
   * Whether a webhook may be believed. Answer it with 401 if not; parse the body after this, not before.
   *
   * @param rawBody the bytes as they arrived: in a servlet, {@code request.getInputStream().readAllBytes()}
   * @param timestamp the header X-Service-Timestamp, or null
   * @param signature the header X-Service-Signature, or null
   * @param secrets the secret of the endpoint; during a rotation the new and the old one
   * @param nowSeconds since 1970: {@code Instant.now().getEpochSecond()}
   */
  public static boolean verify(
      byte[] rawBody, String timestamp, String signature, List<String> secrets, long nowSeconds)
      throws GeneralSecurityException {
    if (timestamp == null || !timestamp.matches("[0-9]{1,12}")) return false;
    if (signature == null || !signature.matches("[0-9a-f]{64}")) return false;
    boolean fits = false;
    for (String secret : secrets) {
      // An empty secret, such as that of an unset variable, is refused here.
      if (secret.isEmpty()) continue;
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
      mac.update((timestamp + ".").getBytes(UTF_8));
      fits |= MessageDigest.isEqual(mac.doFinal(rawBody), HexFormat.of().parseHex(signature));
    }
    return fits && Math.abs(nowSeconds - Long.parseLong(timestamp)) <= TOLERANCE_SECONDS;
  }

  // What follows compares it with the vectors: java Verify.java ../test-vectors.json

  public static void main(String[] arguments) throws IOException, GeneralSecurityException {
    Json file = new Json(Files.readString(Path.of(arguments[0])));
    List<Map<String, Object>> vectors = as(Json.<Map<String, Object>>as(file.value()).get("webhooks"));
    int wrong = 0;
    for (Map<String, Object> vector : vectors) {
      Map<String, String> headers = as(vector.get("headers"));
      Map<String, String> expected = as(vector.get("expect"));
      boolean believed =
          verify(
              Json.<String>as(vector.get("body")).getBytes(UTF_8),
              headers.get("x-service-timestamp"),
              headers.get("x-service-signature"),
              as(vector.get("secrets")),
              Long.parseLong(as(vector.get("nowSeconds"))));
      if (believed == expected.containsKey("eventId")) continue;
      System.out.println(vector.get("name") + ": not as expected");
      wrong += 1;
    }
    System.out.println(vectors.size() + " vectors, " + wrong + " wrong");
    System.exit(wrong == 0 ? 0 : 1);
  }

  private static <Value> Value as(Object value) {
    return Json.as(value);
  }

  /** Reads the vectors: Java has no parser of JSON. Numbers and words are texts. A program has a library for this. */
  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    @SuppressWarnings("unchecked")
    static <Value> Value as(Object value) {
      return (Value) value;
    }

    private char next() {
      while (Character.isWhitespace(text.charAt(at))) at += 1;
      return text.charAt(at);
    }

    Object value() {
      return switch (next()) {
        case '{' -> object();
        case '[' -> list();
        case '"' -> string();
        default -> word();
      };
    }

    private Map<String, Object> object() {
      Map<String, Object> members = new LinkedHashMap<>();
      for (at += 1; next() != '}'; skipComma()) {
        String name = string();
        if (next() != ':') throw new IllegalStateException("No colon at " + at);
        at += 1;
        members.put(name, value());
      }
      at += 1;
      return members;
    }

    private List<Object> list() {
      List<Object> items = new ArrayList<>();
      for (at += 1; next() != ']'; skipComma()) items.add(value());
      at += 1;
      return items;
    }

    private void skipComma() {
      if (next() == ',') at += 1;
    }

    private String word() {
      int start = at;
      while (",]} \n\r\t".indexOf(text.charAt(at)) < 0) at += 1;
      return text.substring(start, at);
    }

    private String string() {
      StringBuilder read = new StringBuilder();
      for (at += 1; text.charAt(at) != '"'; at += 1) {
        read.append(text.charAt(at) == '\\' ? escaped() : text.charAt(at));
      }
      at += 1;
      return read.toString();
    }

    private char escaped() {
      at += 1;
      char escape = text.charAt(at);
      if (escape == 'u') {
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
      }
      int index = "bfnrt".indexOf(escape);
      return index < 0 ? escape : "\b\f\n\r\t".charAt(index);
    }
  }
}
