import Foundation
import NIOCore
import Refrain
struct Preconditions {
  init?(fields: HTTPFields) { return nil }
  enum Outcome { case proceed, ignoreRange, notModified, failed }
  func evaluate(
    isGetOrHead: Bool, hasRange: Bool, etag: String?, lastModified: String?,
    isStrongLastModified: Bool
  ) -> Outcome { .proceed }
}
struct MultipartByteRanges {
  init(ranges: [ByteRange], length: Int64, contentType: String?) {}
  var contentLength: Int64 { 0 }
  var contentType: String { "" }
  func heading(at: Int) -> [UInt8] { [] }
  var closing: [UInt8] { [] }
}
enum HopByHop { static func removed(from: HTTPFields) -> HTTPFields { from } }
enum CacheStatus {
  static let hit = "refrain; hit"
  static func hit(detail: String) -> String { hit }
  static func forwarded(
    _ r: String, status: Int? = nil, isStored: Bool = false, isCollapsed: Bool = false
  ) -> String { r }
}
struct RequestDirectives {
  init(fields: HTTPFields) {}
  var noCache = false, noStore = false, onlyIfCached = false
  var maxAge: Int64?, maxStale: Int64?, minFresh: Int64?
}
struct HostCheck: Sendable {
  init(names: [String]) {}
  func isOurs(_ host: String, addresses: [String], port: Int) -> Bool { true }
}
struct AllowedHosts: Sendable {
  init(_ p: [String]) throws(MediaCacheError) {}
  func allows(_ url: URL) -> Bool { true }
}
enum ProxyURL {
  static func parse(target: Substring, token: String) -> Result<URL, Refusal> {
    let rest = target.dropFirst(token.count + 2)
    guard let slash = rest.firstIndex(of: "/"),
      let u = URL(text: rest[..<slash] + "://" + rest[rest.index(after: slash)...])
    else { return .failure(Refusal(400, "no")) }
    return .success(u)
  }
  static func target(for url: URL, token: String) -> String? {
    "/\(token)/" + url.absoluteString.replacingOccurrences(of: "://", with: "/")
  }
}
enum ProxyToken {
  static func isValid(_ t: String) -> Bool { true }
  static func random() -> String { "aaaaaaaaaaaaaaaaaaaa" }
  static func begins(_ target: String, with token: String) -> Bool { true }
}
