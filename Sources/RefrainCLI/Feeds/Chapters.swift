// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// A chapter of a podcast's episode.
struct Chapter: Sendable, Hashable {
  /// The position in the episode at which the chapter begins.
  var start: Duration
  var title: String?

  /// The number of bytes of the longest file of chapters that is read: 4 MiB.
  static let longestFile = 4 << 20
  private static let limit = 1000

  /// Reads the file that `Media.chaptersURL` names, in the JSON Chapters Format
  /// (https://github.com/Podcastindex-org/podcast-namespace).
  ///
  /// - Returns: the chapters in order, without those that the file keeps out of lists (`toc`).
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if the bytes are no such file.
  static func chapters(in bytes: Data) throws(MediaCacheError) -> [Chapter] {
    guard bytes.count <= longestFile else {
      throw MediaCacheError(
        .invalidResponse,
        "The file of chapters exceeds the limit of \(longestFile >> 20) MiB.",
        remedy: "Check the feed that names it.")
    }
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: bytes)
    } catch {
      throw MediaCacheError(
        .invalidResponse, "The file is not one of chapters in JSON.",
        remedy: "Check the feed that names it.")
    }
    return file.chapters.prefix(limit).compactMap { chapter in
      guard chapter.toc != false, let start = Duration(ofMedia: chapter.startTime) else {
        return nil
      }
      return Chapter(start: start, title: chapter.title.flatMap { PlaylistText.shown($0) })
    }.sorted { $0.start < $1.start }
  }

  private struct File: Decodable {
    struct Chapter: Decodable {
      var startTime: Double
      var title: String?
      var toc: Bool?
    }

    var chapters: [Chapter]
  }
}

/// The chapters of the current item, in a file that its feed names. It is fetched through the cache
/// once the item is the current one.
@MainActor
final class PlayChapters {
  private let cache: MediaCache
  private var place = ChapterPlace()
  private(set) var loading: Task<Void, Never>?
  private var item: PlayQueue.Item.ID?
  /// Whether the item was heard. A position before that is where it is to begin, or a remainder of
  /// the item before.
  private var isHeard = false

  init(cache: MediaCache) { self.cache = cache }

  deinit { loading?.cancel() }

  /// Returns the chapter that begins with an event; nil: none does.
  func note(_ event: PlayerEvent) -> Chapter? {
    switch event {
    case .item(let item?): follow(item)
    case .started: isHeard = true
    case .report:
      isHeard = false
      place.leave()
    case .position(let position) where isHeard: return place.enter(at: position)
    default: break
    }
    return nil
  }

  private func follow(_ item: PlayQueue.Item) {
    loading?.cancel()
    self.item = item.id
    place = ChapterPlace()
    guard let url = item.media.chaptersURL else { return }
    // Headers meant for the media's server are not sent to others.
    let headers = item.media.url.isSameOrigin(as: url) ? item.media.headers : [:]
    loading = Task { [weak self, cache] in
      // An item plays as well without its chapters.
      guard let chapters = try? await Self.load(Resource(url: url, headers: headers), from: cache)
      else { return }
      guard let self, self.item == item.id, !Task.isCancelled else { return }
      place = ChapterPlace(chapters)
    }
  }

  /// Reads and parses on a thread for blocking and long work.
  private nonisolated static func load(
    _ file: Resource, from cache: MediaCache
  ) async throws -> [Chapter] {
    let url = file.url
    guard !url.isFileURL else {
      return try await IOThreads.background.run { () throws -> [Chapter] in
        // Reading a pipe would wait.
        guard let file = try RegularFile(url) else { return [] }
        let end = min(file.length, Int64(Chapter.longestFile) + 1)
        return try Chapter.chapters(in: Data(file.bytes(in: 0..<end)))
      }
    }
    let reader = try await cache.open(file, fill: .onDemand)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    let limit = Int64(Chapter.longestFile) + 1
    var bytes = Data()
    for try await chunk in reader.chunks(in: 0..<min(information.length ?? limit, limit)) {
      bytes.append(chunk)
    }
    return try await IOThreads.background.run { [bytes] () throws -> [Chapter] in
      try Chapter.chapters(in: bytes)
    }
  }
}

/// The chapter at the current position. A pure value.
struct ChapterPlace: Sendable {
  private let chapters: [Chapter]
  private var current: Int?

  /// - Parameter chapters: in order.
  init(_ chapters: [Chapter] = []) { self.chapters = chapters }

  /// Records that the item is over: any chapter begins again.
  mutating func leave() { current = nil }

  /// Returns the chapter at a position if it is another one than at the position before.
  mutating func enter(at position: Duration) -> Chapter? {
    var (low, high) = (0, chapters.count)
    while low < high {
      let middle = (low + high) / 2
      if chapters[middle].start <= position { low = middle + 1 } else { high = middle }
    }
    let now = low > 0 ? low - 1 : nil
    guard now != current else { return nil }
    current = now
    return now.map { chapters[$0] }
  }
}
