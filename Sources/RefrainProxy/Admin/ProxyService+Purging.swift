// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Purging by the proxy's operator.
extension ProxyService {
  /// The answer to a purge.
  struct PurgeReport: Sendable, Hashable, Encodable {
    var node: String
    /// The number of entries that were removed.
    var entries: Int
    var freedBytes: Int64
  }

  /// Performs a request with the method PURGE, the form that Varnish, nginx and Fastly share. A
  /// target that ends with an asterisk stands for all that begin so.
  func purge(target: String) async throws -> PurgeReport {
    var order = PurgeOrder()
    if target.hasSuffix("*") {
      order.prefixes = [String(target.dropLast())]
    } else {
      order.urls = [target]
    }
    return try await purge(order)
  }

  /// Performs `POST /purge`, which names several resources at once.
  func purge(body: [UInt8]) async throws -> PurgeReport {
    guard let order = PurgeOrder(body) else {
      throw HTTPError(
        400,
        "The body is not a purge. Send an object with some of the members urls and prefixes "
          + "(lists of strings) and everything (true or false).")
    }
    return try await purge(order)
  }

  private func purge(_ order: PurgeOrder) async throws -> PurgeReport {
    var selection = PurgeSelection()
    for text in order.urls ?? [] {
      selection.keys.insert(cache.key(for: Resource(url: try url(text))))
    }
    for text in order.prefixes ?? [] { selection.insert(prefix: try url(text)) }
    selection.isEverything = order.everything ?? false
    guard !selection.isEmpty else {
      throw HTTPError(400, "The purge names nothing. Name urls or prefixes, or everything.")
    }
    let purged = try await purge(selection)
    return PurgeReport(
      node: configuration.nodeName, entries: purged.entries, freedBytes: purged.freedBytes)
  }

  /// Purges entries in all their representations: no further request is answered with what the
  /// origin sent before.
  ///
  /// - Throws: `HTTPError` if some of them could not be purged; `MediaCacheError`, `.storage`;
  ///   `CancellationError`.
  func purge(_ selection: PurgeSelection) async throws -> MediaCache.Removed {
    // Responses that were stored for credentials are confirmed before they are used.
    for key in selection.keys { invalidations.insert(key, at: cache.now.wall) }
    let purged = try await cache.purge(selection)
    for key in purged.resources { invalidations.insert(key, at: cache.now.wall) }
    // Entries held for fast responses keep removed files.
    hits.releaseAll()
    responses.removeAll(at: cache.now.wall)
    traffic.notePurge(purged.entries)
    if let failure = purged.failures.first {
      let rest =
        purged.failures.count == 1 ? "" : " So could \(purged.failures.count - 1) others not."
      throw HTTPError(
        failure.code == .inUse ? 409 : 500,
        "\(failure)\(rest) Entries that were purged: \(purged.entries). A purge may be repeated.")
    }
    return purged
  }

  /// Returns the URL that clients request with a target; without an origin, the target is the one
  /// without the token.
  private func url(of target: String) throws(HTTPError) -> URL {
    if let origin = configuration.origin {
      return try ProxyURL.parse(target: target, origin: origin)
    }
    guard let token = routes.token else { throw HTTPError(400, "The path names no resource.") }
    do throws(HTTPError) {
      return try ProxyURL.parse(target: "/\(token)\(target)", token: token).url
    } catch {
      throw HTTPError(error.status, "The path names no resource. Use /https/example.com/path.")
    }
  }

  /// Returns the origin's URL for a target or a URL: with an origin, also for a URL under one of the
  /// proxy's own names, as clients write it.
  ///
  /// - Throws: 400 for text that names nothing which this proxy serves.
  private func url(_ text: String) throws(HTTPError) -> URL {
    if text.hasPrefix("/") { return try url(of: text) }
    guard let url = URL(text: text), let parts = WebURL(url.absoluteString) else {
      throw HTTPError(400, "\(text.prefix(200)) is not an http or https URL.")
    }
    guard let origin = routes.origin, routes.target(for: url) == nil else { return url }
    guard routes.isPublic(authority: parts.authority) else {
      throw HTTPError(
        400,
        "\(text.prefix(200)) is not of this proxy's origin. Use a URL that begins with \(origin), "
          + "or the path alone.")
    }
    return try self.url(of: parts.requestTarget)
  }
}

/// What a purge concerns, as the operator names it: targets in origin form, as clients send them, or
/// URLs.
private struct PurgeOrder: Decodable {
  var urls: [String]?
  var prefixes: [String]?
  var everything: Bool?

  init() {}

  /// Reads JSON; nil if it is no such object. An unknown member may say what is to stay.
  init?(_ json: [UInt8]) {
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    let decoder = JSONDecoder()
    guard let order = try? decoder.decode(Self.self, from: Data(json)),
      let members = try? decoder.decode([String: Anything].self, from: Data(json)),
      Set(members.keys).isSubset(of: ["urls", "prefixes", "everything"])
    else { return nil }
    self = order
  }
}
