// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy

final class Removal: Sendable {
  private let proxy: ProxyService
  private let removed = Atomic<Int64>(0)

  init(of proxy: ProxyService) { self.proxy = proxy }

  var count: Int64 { removed.load(ordering: .relaxed) }

  struct PurgeReport: Sendable, Hashable, Encodable {
    var node: String
    var entries: Int
    var freedBytes: Int64
  }

  /// Purges by the method PURGE, as in Varnish, nginx and Fastly. A target that ends with an
  /// asterisk stands for all that begin so.
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
  func purge(body: Data) async throws -> PurgeReport {
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
      selection.keys.insert(proxy.cache.key(for: Resource(url: try proxy.routes.url(named: text))))
    }
    for text in order.prefixes ?? [] { selection.insert(prefix: try proxy.routes.url(named: text)) }
    selection.isEverything = order.everything ?? false
    guard !selection.isEmpty else {
      throw HTTPError(400, "The purge names nothing. Name urls or prefixes, or everything.")
    }
    let purged = try await purge(selection)
    return PurgeReport(
      node: proxy.nodeName, entries: purged.entries, freedBytes: purged.freedBytes)
  }

  /// Throws as `ProxyService.purge`, and `HTTPError` if some entries could not be purged.
  func purge(_ selection: PurgeSelection) async throws -> RemovedEntries {
    let purged = try await proxy.purge(selection)
    removed.add(Int64(purged.entries), ordering: .relaxed)
    if let failure = purged.failures.first {
      let rest =
        purged.failures.count == 1 ? "" : " So could \(purged.failures.count - 1) others not."
      throw HTTPError(
        failure.code == .inUse ? 409 : 500,
        "\(failure)\(rest) Entries that were purged: \(purged.entries). A purge may be repeated.")
    }
    return purged
  }
}

/// Names targets in origin form, as clients send them, or URLs.
private struct PurgeOrder: Decodable {
  var urls: [String]?
  var prefixes: [String]?
  var everything: Bool?

  init() {}

  /// Reads JSON; nil if it is no such object. An unknown member may say what is to stay.
  init?(_ json: Data) {
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    let decoder = JSONDecoder()
    guard let order = try? decoder.decode(Self.self, from: json),
      let members = try? decoder.decode([String: Anything].self, from: json),
      Set(members.keys).isSubset(of: ["urls", "prefixes", "everything"])
    else { return nil }
    self = order
  }
}
