// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

/// `get --list`: prints what streams offer.
struct StreamList: Sendable {
  private let cache: MediaCache
  private let options: GlobalOptions
  private let quality: StreamChoice.Quality

  init(_ cache: MediaCache, _ options: GlobalOptions, _ quality: StreamChoice.Quality) {
    self.cache = cache
    self.options = options
    self.quality = quality
  }

  /// Lists the streams one after the other. If one fails, the error is reported and the others are
  /// still listed.
  func run(_ urls: [URL]) async throws {
    var hasFailed = false
    for (index, url) in urls.enumerated() {
      do {
        let report = try await report(url)
        if options.json {
          try Console.shared.print(JSONText.line(report))
        } else {
          try Console.shared.print(lines: (index > 0 ? [""] : []) + report.lines)
        }
      } catch let error as MediaCacheError where error.code != .closed {
        Console.shared.note(failureLine(url, error))
        hasFailed = true
      }
    }
    if hasFailed { throw ExitCode.failure }
  }

  private func report(_ url: URL) async throws -> StreamReport {
    let download = StreamDownload(options.resource(url), into: cache)
    guard let source = try await download.readSource() else {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) is not the manifest of an HLS or DASH stream.",
        remedy: "Fetch it without --list.")
    }
    let seconds = try await download.duration(of: source, quality: quality)
    let bytes = try await download.estimatedBytes(of: source)
    return StreamReport(source, at: url, seconds: seconds, bytes: bytes)
  }
}
