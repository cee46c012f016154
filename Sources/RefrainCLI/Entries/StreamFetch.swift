// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Fetches a resource into the cache; if it is the playlist of a stream, the stream.
struct StreamFetch: Sendable {
  private let resource: Resource
  private let cache: MediaCache
  private let choice: StreamChoice
  private let reports: GetReports
  private let isPinned: Bool

  /// - Parameter isPinned: whether the resource was pinned for this fetch.
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
    let told = reports.progress(isShown: isShown)
    // A playlist is short, and the progress of the stream is to follow.
    let isSilent = ["m3u8", "mpd"].contains(resource.url.pathExtension.lowercased())
    let information = try await cache.prefetch(resource) { progress in
      if !isSilent { told(progress.storedBytes, progress.totalBytes) }
    }
    guard StreamDownload.mayBeStream(information, at: resource.url) else {
      return information.length
    }
    let download = StreamDownload(resource, into: cache)
    guard let source = try await download.source() else { return information.length }
    guard !isPinned else {
      _ = try await cache.unpin(resource)
      throw MediaCacheError(
        .storage, "--pin keeps single files, and this is a stream of many.",
        remedy: "Omit --pin: the stream is stored until room is needed.")
    }
    var streamReports = StreamDownload.Reports()
    (streamReports.began, streamReports.ended) = (began, ended)
    let selection = try await download.select(choice, of: source, reports: streamReports)
    try reports.selected(selection, isQuiet: isQuiet)
    streamReports.progress = reports.streamProgress(
      isShown: isShown, duration: selection.plan.duration)
    return try await download.run(selection.plan, reports: streamReports)
  }
}
