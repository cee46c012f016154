// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

/// The options of `get` for resources that are never evicted.
struct PinOptions: ParsableArguments {
  @Flag(
    help: """
      Keep the resources until 'refrain rm' or --unpin: room for others is never made with them. \
      A resource that does not fit in the limit beside other pinned ones is refused.
      """)
  var pin = false

  @Flag(help: "Lift --pin of these URLs, and fetch nothing. Their bytes stay until room is needed.")
  var unpin = false

  func validate() throws {
    guard !pin || !unpin else {
      throw ValidationError("Use either --pin or --unpin.")
    }
  }

  /// Pins a resource, before the rest of it is fetched, if the options say so.
  func pin(_ resource: Resource, in cache: MediaCache) async throws {
    if pin { try await cache.pin(resource) }
  }

  /// Lifts the pins of URLs, which must be stored.
  func unpin(_ urls: [URL], _ options: GlobalOptions) async throws {
    try await withExistingCache(options) { cache in
      var missing: [URL] = []
      for url in urls {
        let resource = options.resource(url)
        guard let cache, try await cache.entry(for: resource) != nil else {
          missing.append(url)
          continue
        }
        let wasPinned = try await cache.unpin(resource)
        let name = url.withoutUserInfo.absoluteString
        if options.json {
          try Console.shared.print(JSONText.line(Unpinned(url: name, wasPinned: wasPinned)))
        } else {
          try Console.shared.print(
            printable(wasPinned ? "\(name) is no longer pinned." : "\(name) was not pinned."))
        }
      }
      if let first = missing.first { throw ProgramError.nothingStored(of: first) }
    }
  }

  private struct Unpinned: Encodable {
    var event = "unpinned"
    var url: String
    var wasPinned: Bool
  }
}
