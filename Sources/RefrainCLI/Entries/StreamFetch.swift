// SPDX-License-Identifier: MIT
import Foundation
import Refrain

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
