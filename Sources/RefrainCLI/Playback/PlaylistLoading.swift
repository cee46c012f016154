// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// The media that the arguments of `play` name.
struct PlaylistLoading: Sendable {
  private(set) var media: [Media] = []
  /// Arguments of which nothing plays.
  private(set) var failures: [(url: URL, error: MediaCacheError)] = []
  /// What else does not play: the first reasons of each argument, and the number of others.
  private(set) var skipped: [String] = []

  /// How many arguments are looked into at once.
  private static let width = 4
  /// How long reading may take without a word.
  private static let silence = Duration.seconds(1)

  /// Takes media as they are, and expands folders, playlists and feeds; those on the network are
  /// read through the cache. The playlist of an HTTP Live Stream is one item.
  ///
  /// - Parameter show: receives a line about the progress, if reading takes long.
  /// - Throws: `CancellationError`.
  init(
    of urls: [URL], options: GlobalOptions, from cache: MediaCache,
    showing show: (@Sendable (String) -> Void)? = nil
  ) async throws {
    let progress = ListProgress()
    // Somebody may be typing the list on standard input.
    progress.find(urls.count { $0 != PlayArgument.standardInput })
    let expansions = try await withThrowingTaskGroup(of: Void.self) { group in
      if let show {
        group.addTask {
          try await Task.sleep(for: Self.silence)
          while true {
            if let text = progress.text { show(text) }
            try await Task.sleep(for: .milliseconds(200))
          }
        }
      }
      defer { group.cancelAll() }
      return try await Self.expand(urls, options.fields, from: cache, progress)
    }
    for (url, expansion) in zip(urls, expansions) {
      media += expansion.media
      skipped += expansion.skipped
      if let failure = expansion.failure { failures.append((url, failure)) }
    }
    try Task.checkCancellation()
  }

  /// Returns the expansions of the URLs, in their order.
  private static func expand(
    _ urls: [URL], _ headers: HeaderFields, from cache: MediaCache, _ progress: ListProgress
  ) async throws -> [ArgumentExpansion] {
    let reading = ListReading(cache: cache)
    return try await withThrowingTaskGroup(of: (Int, ArgumentExpansion).self) { group in
      var expansions: [Int: ArgumentExpansion] = [:]
      for (index, url) in urls.enumerated() {
        if index >= width, let (done, expansion) = try await group.next() {
          expansions[done] = expansion
        }
        group.addTask {
          let expansion = try await ArgumentExpansion(
            of: url, headers: headers, by: reading, progress: progress)
          return (index, expansion)
        }
      }
      for try await (done, expansion) in group { expansions[done] = expansion }
      return urls.indices.compactMap { expansions[$0] }
    }
  }
}
