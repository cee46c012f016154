// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainPlayer

/// The media that one argument of `play` names: itself, the files of a folder, or the entries of a
/// list and of the lists in it.
struct ArgumentExpansion: Sendable {
  private(set) var media: [Media] = []
  /// The reason why nothing of the argument plays.
  private(set) var failure: MediaCacheError?

  private let url: URL
  private let headers: HeaderFields
  private let reading: ListReading
  private let mediaLimit: Int
  private let progress: ListProgress
  private var omissions = Omissions()
  private var nestedCount = 0
  /// Whether media beyond the limit are left out.
  private var isCut = false

  /// How deep a list in a list in a list is read.
  static let depthLimit = Media.listDepth
  /// The lists in lists that are read, per argument.
  static let nestedLimit = 250
  private static let usualLimit = 100_000
  /// The lists in a list that are read at once.
  private static let width = 4
  /// The URLs on standard input up to which each is looked into as an argument is.
  private static let probeLimit = 16

  /// - Parameters:
  ///   - headers: those of requests to the argument's own origin, and to the web from local lists.
  ///   - progress: counts the lists that are read. The argument itself is known to it.
  /// - Throws: `CancellationError`.
  init(
    of url: URL, headers: HeaderFields, by reading: ListReading, mediaLimit: Int? = nil,
    progress: ListProgress = ListProgress()
  ) async throws {
    self.url = url
    self.headers = headers
    self.reading = reading
    self.mediaLimit = mediaLimit ?? Self.usualLimit
    self.progress = progress
    do {
      try await expand()
    } catch let error as MediaCacheError {
      failure = error
    }
  }

  /// Takes over a list that was read already: an item of a queue that turned out to be one.
  ///
  /// - Parameters:
  ///   - identity: that of `ListReading.Contents`.
  ///   - item: the item, whose headers are sent as an argument's are.
  /// - Throws: `CancellationError`.
  init(
    of list: ListReading.List, identity: URL, playedAs item: Media, by reading: ListReading
  ) async throws {
    url = item.url
    headers = item.headers
    self.reading = reading
    mediaLimit = Self.usualLimit
    progress = ListProgress()
    do {
      try await add(list, headers, within: item.lists + [identity])
    } catch let error as MediaCacheError {
      failure = error
    }
  }

  /// What else does not play: the first reasons, each in one sentence, and the number of others.
  var skipped: [String] {
    omissions.texts + (isCut ? ["Only the first \(mediaLimit) entries are played."] : [])
  }

  private mutating func expand() async throws {
    if url == PlayArgument.standardInput {
      return try await add(try await reading.standardInput(), headers, within: [])
    }
    let contents: ListReading.Contents
    do {
      defer { progress.finish() }
      let url = url
      let problem = await IOThreads.background.run {
        FolderListing.isFolder(url) ? nil : PlayArgument.problem(with: url)
      }
      if let problem { throw problem }
      contents = try await reading.contents(of: url, headers, isNested: false)
    }
    switch contents {
    case .folder(let listing): try add(listing, of: url)
    case .list(let list, let identity): try await add(list, headers, within: [identity])
    case .media: add(Media(url, headers: headers))
    }
  }

  private mutating func add(_ entry: Media) {
    guard media.count < mediaLimit else {
      isCut = true
      return
    }
    media.append(entry)
  }

  private mutating func add(
    _ listing: FolderListing, of folder: URL
  ) throws(MediaCacheError) {
    for reason in listing.skipped { omissions.add(reason) }
    guard !listing.files.isEmpty else {
      throw MediaCacheError(
        .badURL, "\(folder.path(percentEncoded: false)) has no media files.",
        remedy: "Name the files to play: those of a folder are known by their extensions.")
    }
    for file in listing.files { add(Media(file, headers: headers)) }
  }

  // MARK: Lists

  /// - Parameter around: the identities of the list and of those that it is in; none for standard
  ///   input.
  private mutating func add(
    _ list: ListReading.List, _ headers: HeaderFields, within around: [URL]
  ) async throws {
    let (before, omitted) = (media.count, omissions.count)
    let name = around.isEmpty ? "-" : URLArgument.name(of: list.source)
    for reason in list.skipped { omissions.add("\(name): \(reason)") }
    // URLs on standard input are like arguments, but a request for each of many takes long.
    let probesUnnamedURLs =
      around.isEmpty && list.isPlain
      && list.entries.count { !$0.url.isFileURL } <= Self.probeLimit
    // Lists of channels have thousands of streams.
    let looksIntoStreams =
      list.entries.count { Self.mayBeStream($0.url) } <= Self.probeLimit
    let entries = await Self.entries(of: list, headers) { url in
      Self.isNested(
        url, probesUnnamedURLs: probesUnnamedURLs, looksIntoStreams: looksIntoStreams)
    }
    var unread = entries.indices.filter { entries[$0].isNested }[...]
    progress.find(min(unread.count, Self.nestedLimit - nestedCount))
    var read: [Int: NestedResult] = [:]
    for (index, entry) in entries.enumerated() {
      guard entry.isNested else {
        // By its name it is media, but it was just read.
        if around.contains(entry.media.url) {
          omissions.add(Self.omission(of: entry.media, in: name, Self.selfListing))
        } else {
          add(entry.media)
        }
        continue
      }
      guard media.count < mediaLimit else {
        isCut = true
        break
      }
      if read[index] == nil {
        if let why = refusal(atDepth: around.count) {
          omissions.add(Self.omission(of: entry.media, in: name, why))
          unread = unread.dropFirst()
          continue
        }
        let batch = unread.prefix(min(Self.width, Self.nestedLimit - nestedCount))
        nestedCount += batch.count
        unread = unread.dropFirst(batch.count)
        read = try await self.read(batch.map { ($0, entries[$0].media) })
      }
      guard let result = read.removeValue(forKey: index) else { continue }
      try await add(result, of: entry.media, in: name, within: around)
    }
    guard media.count == before, !isCut else { return }
    throw omissions.count == omitted
      ? MediaCacheError(
        .invalidResponse, "The playlist is empty.",
        remedy: "Check that it is the right one: it lists no media.")
      : MediaCacheError(
        .invalidResponse, "The playlist lists nothing that can be played.",
        remedy: "The lines above give the reason for each entry.")
  }

  private struct Entry: Sendable {
    var media: Media
    /// Whether it is, or may be, a list or a folder.
    var isNested: Bool
  }

  /// Returns the entries of a list, with the headers that they may have. Looks at local files on a
  /// thread for blocking work.
  private static func entries(
    of list: ListReading.List, _ headers: HeaderFields,
    isNested: @escaping @Sendable (URL) -> Bool
  ) async -> [Entry] {
    await IOThreads.background.run {
      var entries: [Entry] = []
      entries.reserveCapacity(list.entries.count)
      for var media in list.entries {
        // Headers meant for one server are not sent to others that its playlist names, nor to one
        // that it redirects to, unless they are harmless.
        let isOwn = list.requested.isFileURL || list.requested.isSameOrigin(as: media.url)
        media.headers = isOwn ? headers : headers.harmless
        entries.append(Entry(media: media, isNested: isNested(media.url)))
      }
      return entries
    }
  }

  /// Whether an entry is, or may be, a list or a folder. An entry on the network that ends in
  /// `.m3u8` is usually a stream: among many, the player looks at it when its turn comes.
  private static func isNested(
    _ url: URL, probesUnnamedURLs: Bool, looksIntoStreams: Bool
  ) -> Bool {
    guard ListKind(named: url) == nil else { return !mayBeStream(url) || looksIntoStreams }
    guard !MediaFiles.isMedia(url.lastPathComponent) else { return false }
    return url.isFileURL ? FolderListing.isFolder(url) : probesUnnamedURLs
  }

  /// Whether an entry is a stream by its name, which a list of songs may have, too.
  private static func mayBeStream(_ url: URL) -> Bool {
    !url.isFileURL && url.pathExtension.lowercased() == "m3u8"
  }

  // MARK: Lists in lists

  private typealias NestedResult = Result<ListReading.Contents, MediaCacheError>

  /// Returns why no further list is read here.
  private func refusal(atDepth depth: Int) -> String? {
    guard depth < Self.depthLimit else {
      return "is left out: playlists in playlists are read to a depth of \(Self.depthLimit)."
    }
    guard nestedCount < Self.nestedLimit else {
      return "is left out: at most \(Self.nestedLimit) playlists in a playlist are read."
    }
    return nil
  }

  private func read(_ entries: [(Int, Media)]) async throws -> [Int: NestedResult] {
    try await withThrowingTaskGroup(of: (Int, NestedResult).self) { group in
      for (index, entry) in entries {
        group.addTask { [reading, progress] in
          defer { progress.finish() }
          do {
            let contents = try await reading.contents(
              of: entry.url, entry.headers, isNested: true)
            return (index, .success(contents))
          } catch let error as MediaCacheError {
            return (index, .failure(error))
          }
        }
      }
      var read: [Int: NestedResult] = [:]
      for try await (index, result) in group { read[index] = result }
      return read
    }
  }

  private mutating func add(
    _ result: NestedResult, of entry: Media, in name: String, within around: [URL]
  ) async throws {
    // The origin of a stream may be back when its turn comes.
    if case .failure = result, Self.mayBeStream(entry.url) { return add(entry) }
    do {
      switch try result.get() {
      case .folder(let listing): try add(listing, of: entry.url)
      case .list(_, let identity) where around.contains(identity):
        omissions.add(Self.omission(of: entry, in: name, Self.selfListing))
      case .list(let list, let identity):
        try await add(list, entry.headers, within: around + [identity])
      case .media: add(entry)
      }
    } catch let error as MediaCacheError {
      omissions.add(Self.omission(of: entry, in: name, "does not play: \(error.reason)"))
    }
  }

  private static let selfListing = "is left out: it is a playlist that lists itself."

  private static func omission(of entry: Media, in name: String, _ why: String) -> String {
    "\(name): “\(URLArgument.name(of: entry.url))” \(why)"
  }
}

/// The numbers of lists that are known and that have been read, while the arguments of `play` are
/// expanded.
final class ListProgress: Sendable {
  private struct Counts {
    var known = 0
    var read = 0
  }

  private let counts = Mutex(Counts())

  func find(_ count: Int) { counts.withLock { $0.known += count } }

  func finish() { counts.withLock { $0.read += 1 } }

  /// A line for people; nil if nothing is being read.
  var text: String? {
    let now = counts.withLock(\.self)
    return now.read < now.known ? "Reading list \(now.read + 1) of \(now.known)" : nil
  }
}

/// What is left out of a list: the first reasons, and the number of the others. A pure value.
struct Omissions: Sendable {
  private(set) var count = 0
  private var reasons: [String] = []

  /// The number of reasons that are kept.
  static let limit = 20

  mutating func add(_ reason: @autoclosure () -> String) {
    count += 1
    if reasons.count < Self.limit { reasons.append(reason()) }
  }

  /// A sentence for each reason, and one for those that are not kept.
  var texts: [String] {
    let others = count - reasons.count
    guard others > 0 else { return reasons }
    return reasons + ["\(others) more \(others == 1 ? "entry does" : "entries do") not play."]
  }
}
