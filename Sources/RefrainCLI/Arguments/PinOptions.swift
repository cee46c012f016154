// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

/// The options of `get` for resources that are never evicted.
struct PinOptions: ParsableArguments {
  @Flag(
    help: """
      Keep the resources until 'refrain rm' or --unpin: room for others is never made with them. \
      A resource or stream that does not fit in the limit beside other pinned ones is refused.
      """)
  var pin = false

  @Flag(
    help: """
      Lift --pin of these URLs, and fetch nothing. Files of a stream that another pinned stream \
      needs stay pinned. The other bytes stay until room is needed, unless the origin forbids \
      storing them.
      """)
  var unpin = false

  func validate() throws {
    guard !pin || !unpin else {
      throw ValidationError("Use either --pin or --unpin.")
    }
  }

  /// Lifts the pins of URLs, which must be stored, with all parts of streams but those that another
  /// pinned stream needs.
  func unpin(_ urls: [URL], _ options: GlobalOptions) async throws {
    try await withExistingCache(options) { cache in
      var missing: [URL] = []
      for url in urls {
        let resource = options.resource(url)
        guard let cache, try await cache.entry(for: resource) != nil else {
          missing.append(url)
          continue
        }
        let isOwnPinned = try await cache.entry(for: resource)?.isPinned == true
        let count = try await StreamDownload(resource, into: cache).unpin()
        let wasPinned = count > 0
        let name = url.withoutUserInfo.absoluteString
        if options.json {
          try Console.shared.print(
            JSONText.line(
              Unpinned(url: name, wasPinned: wasPinned, parts: count - (isOwnPinned ? 1 : 0))))
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
    /// The number of unpinned entries of a stream besides its first manifest.
    var parts: Int
  }
}
