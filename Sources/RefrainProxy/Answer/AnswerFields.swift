// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The fields of answers from the cache.
struct AnswerFields: Sendable {
  /// The proxy stands for many origins under one name, its own.
  var isForManyOrigins: Bool
  var allowedWebOrigin: String?

  /// What one origin may say of its own name holds for no other (RFC 6797, RFC 7838), nor may it
  /// let pages of others read through this proxy.
  private static let ofOneOrigin: Set<String> = [
    "set-cookie", "set-cookie2", "strict-transport-security", "alt-svc", "clear-site-data",
    "public-key-pins", "nel", "report-to", "reporting-endpoints", "service-worker-allowed",
    "origin-agent-cluster", "access-control-allow-origin", "access-control-allow-credentials",
    "access-control-expose-headers", "access-control-allow-methods",
    "access-control-allow-headers", "access-control-max-age", "timing-allow-origin",
  ]

  /// Those of the stored response, without what is different in each answer.
  func stored(_ known: StoredResponse) -> HTTPFields {
    var fields = HTTPFields(passable(known.headers).fields.map { ($0.name, $0.value) })
    if fields["Date"] == nil {
      fields.append("Date", HTTPDate.format(known.freshness.confirmedAt))
    }
    if known.information.length != nil { fields.append("Accept-Ranges", "bytes") }
    addWebOrigin(to: &fields)
    return fields
  }

  /// Of an origin's fields, those that its clients may have from here.
  func passable(_ headers: HTTPFields) -> HTTPFields {
    let passable = headers.fields.lazy.filter { field in
      Self.isField(field)
        && !(isForManyOrigins && Self.ofOneOrigin.contains(field.name.lowercased()))
    }
    var fields = HTTPFields(passable.map { ($0.name, $0.value) })
    if isForManyOrigins, Self.mayHaveScript(fields["Content-Type"]) {
      // Another policy of the origin's holds as well.
      fields.append("Content-Security-Policy", "sandbox")
    }
    return fields
  }

  /// Whether a browser might run script of a body: in the web origin of the proxy, where pages of all
  /// origins would lie. Media has none.
  private static func mayHaveScript(_ contentType: String?) -> Bool {
    guard let type = contentType?.lowercased(), !type.contains(",") else { return true }
    let essence = type.prefix { $0 != ";" }.trimmingOWS
    if essence.hasPrefix("audio/") || essence.hasPrefix("video/") { return false }
    if essence.hasPrefix("image/") { return essence.contains("xml") }
    return !["application/octet-stream", "application/vnd.apple.mpegurl", "application/ogg"]
      .contains(essence)
  }

  /// What is none would be read as something else: a line of its own, or another answer
  /// (RFC 9110 §5.5).
  private static func isField(_ field: HTTPFields.Field) -> Bool {
    field.name.isToken && field.value.utf8.allSatisfy(\.isValueByte)
  }

  func addWebOrigin(to fields: inout HTTPFields) {
    guard let allowedWebOrigin else { return }
    fields["Access-Control-Allow-Origin"] = allowedWebOrigin
    fields["Access-Control-Expose-Headers"] =
      "Accept-Ranges, Age, Cache-Status, Content-Length, Content-Range, Date, ETag"
  }

  /// The answer to a page that asks whether it may read (CORS-preflight, Fetch standard).
  func preflight(_ request: HTTPFields) -> HTTPFields {
    var fields: HTTPFields = ["Date": HTTPDate.format(Date())]
    addWebOrigin(to: &fields)
    fields.append("Access-Control-Allow-Methods", "GET, HEAD")
    if let asked = request["Access-Control-Request-Headers"] {
      fields.append("Access-Control-Allow-Headers", asked)
    }
    if request["Access-Control-Request-Private-Network"] == "true" {
      fields.append("Access-Control-Allow-Private-Network", "true")
    }
    fields.append("Access-Control-Max-Age", "600")
    return fields
  }

  /// Whole seconds since the origin made or confirmed what is stored (RFC 9111 §5.1).
  static func age(_ known: StoredResponse, at now: Date) -> Int64 {
    Int64(min(max(known.freshness.age(at: now), 0), Double(1 << 31)))
  }
}
