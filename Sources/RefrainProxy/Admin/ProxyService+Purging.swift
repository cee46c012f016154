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

  /// Adds the ways to purge.
  static func addPurging(to routes: inout AdminRoutes) {
    routes.add(everywhere: "PURGE") { service, request in
      let target = request.path + (request.query.map { "?\($0)" } ?? "")
      return try await service.purge(PurgeRequest(target: target))
    }
    routes.add("POST", "/purge") { service, request in
      let type = request.fields["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
      guard type == "application/json" else {
        throw HTTPError(415, "A purge needs a body of the type application/json.")
      }
      let body = try await request.body(limit: PurgeRequest.longestBody)
      return try await service.purge(PurgeRequest(body: body))
    }
  }

  private func purge(_ request: PurgeRequest) async throws -> AdminAnswer {
    let purged = try await purge(try selection(of: request))
    return try .json(
      PurgeReport(
        node: configuration.nodeName, entries: purged.entries, freedBytes: purged.freedBytes))
  }

  /// Purges entries in all their representations: no further request is answered with what the
  /// origin sent before.
  ///
  /// - Throws: `HTTPError` if some of them could not be purged; `MediaCacheError`, `.storage`;
  ///   `CancellationError`.
  func purge(_ selection: PurgeSelection) async throws -> MediaCache.Purged {
    // Responses that were stored for credentials are confirmed before they are used.
    for key in selection.keys { invalidations.insert(key, at: cache.now.wall) }
    let purged = try await cache.purge(selection)
    for key in purged.resources { invalidations.insert(key, at: cache.now.wall) }
    // Entries held for fast responses keep removed files.
    hits.releaseAll()
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

  /// Returns the entries that a request concerns.
  ///
  /// - Throws: 400 for text that names nothing which this proxy serves.
  private func selection(of request: PurgeRequest) throws(HTTPError) -> PurgeSelection {
    var selection = PurgeSelection()
    for subject in request.subjects {
      switch subject {
      case .target(let target): insert(try url(of: target), into: &selection)
      case .url(let text): insert(try url(text), into: &selection)
      case .targetPrefix(let target): selection.insert(prefix: try url(of: target))
      case .urlPrefix(let text): selection.insert(prefix: try url(text))
      case .everything: selection.isEverything = true
      }
    }
    return selection
  }

  private func insert(_ url: URL, into selection: inout PurgeSelection) {
    selection.keys.insert(cache.key(for: Resource(url: url)))
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

  /// Returns the origin's URL for one of an order: with an origin, also for a URL under one of the
  /// proxy's own names, as clients write it.
  private func url(_ text: String) throws(HTTPError) -> URL {
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
