// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainStreams

/// Fetches a resource into the cache; if it is the first manifest of a stream, the stream.
struct StreamFetch: Sendable {
  private let resource: Resource
  private let cache: MediaCache
  private let choice: StreamChoice
  private let reports: GetReports
  private let isPinned: Bool

  /// - Parameter isPinned: whether to pin the resource, and all parts of a stream.
  init(
    _ resource: Resource, into cache: MediaCache, _ choice: StreamChoice, _ reports: GetReports,
    isPinned: Bool
  ) {
    self.resource = resource
    self.cache = cache
    self.choice = choice
    self.reports = reports
    self.isPinned = isPinned
  }

  /// - Parameters:
  ///   - isQuiet: whether to write no warnings.
  ///   - isShown: whether the line at a terminal's foot belongs to this resource now.
  ///   - began: called before a part of a stream is fetched.
  ///   - ended: called after that.
  /// - Returns: the length in bytes, of a stream that of all its parts.
  func run(
    isQuiet: Bool, isShown: @escaping @Sendable () -> Bool,
    began: @escaping @Sendable (CacheKey, URL) -> Void,
    ended: @escaping @Sendable (CacheKey) -> Void
  ) async throws -> Int64? {
    let download = StreamDownload(resource, into: cache, isPinned: isPinned)
    let told = reports.progress(isShown: isShown)
    // A manifest is short, and the progress of the stream is to follow.
    let isSilent = ["m3u8", "mpd"].contains(resource.url.pathExtension.lowercased())
    let information = try await download.bringFirst { progress in
      if !isSilent { told(progress.storedBytes, progress.totalBytes) }
    }
    guard await download.mayBeStream(information) else { return information.length }
    var streamReports = StreamDownload.Reports()
    (streamReports.began, streamReports.ended) = (began, ended)
    guard let source = try await download.source() else { return information.length }
    let selection = try await download.select(choice, of: source, reports: streamReports)
    try reports.selected(selection, isQuiet: isQuiet)
    streamReports.progress = reports.streamProgress(
      isShown: isShown, duration: selection.plan.duration)
    return try await download.run(selection, reports: streamReports)
  }
}

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
