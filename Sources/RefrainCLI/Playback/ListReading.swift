// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

/// Reads lists of media: files, those on the network through the cache, and standard input. The
/// content decides whether a resource is a list; if it has no mark, the name and the type decide.
struct ListReading: Sendable {
  let cache: MediaCache
  /// How long a resource may take to show whether it is a list, if its name does not say so, or if
  /// other media of a list wait for it. After that, one without a telling name counts as media,
  /// whose player waits for as long as is necessary.
  var patience = Duration.seconds(10)

  /// The entries of a list, and those that cannot be played, each with the reason in one sentence.
  typealias Parsed = (entries: [Media], skipped: [String])

  /// A list, and the place to which its entries are relative.
  struct List: Sendable {
    var entries: [Media]
    /// The entries that cannot be played, each with the reason in one sentence.
    var skipped: [String]
    /// Whether it has the mark of no format: a path or a URL per line.
    var isPlain: Bool
    /// The URL that was asked for, whose origin decides which headers the entries have.
    var requested: URL
    /// The URL after redirects, to which references are relative.
    var source: URL

    init(_ contents: Parsed, isPlain: Bool = false, requested: URL, source: URL? = nil) {
      (entries, skipped) = contents
      self.isPlain = isPlain
      self.requested = requested
      self.source = source ?? requested
    }
  }

  /// What a URL names.
  enum Contents: Sendable {
    case media
    case folder(FolderListing)
    /// The identity is the same for all names of a file.
    case list(List, identity: URL)
  }

  /// Returns what a URL names.
  ///
  /// - Parameter isNested: whether it is an entry of a list.
  /// - Throws: `CancellationError`; `MediaCacheError` if it cannot be read.
  func contents(
    of url: URL, _ headers: HeaderFields, isNested: Bool
  ) async throws -> Contents {
    guard url.isFileURL else {
      let isNamed = ListKind(named: url) != nil
      // A name of media is believed until it plays: it costs a request to look into each of many
      // arguments.
      guard isNamed || !MediaFiles.isMedia(url.lastPathComponent) else { return .media }
      let resource = Resource(url: url, headers: headers)
      let list = try await list(at: resource, isNamed: isNamed, isNested: isNested)
      return list.map { .list($0, identity: url) } ?? .media
    }
    let (isFolder, identity) = await IOThreads.background.run {
      (FolderListing.isFolder(url), url.resolvingSymlinksInPath())
    }
    if isFolder { return .folder(try await FolderListing.of(url)) }
    return try await file(url).map { .list($0, identity: identity) } ?? .media
  }

  /// Returns the list that an item of a queue is in which the player found no media, whatever its
  /// name, and the list's identity; nil if it is none. Of what is stored whole, the stored bytes are
  /// read without a request: the player has just received them.
  ///
  /// - Throws: `CancellationError`; `MediaCacheError` if the list cannot be read.
  func list(playedAs item: Media) async throws -> (list: List, identity: URL)? {
    let url = item.url
    guard let resource = item.resource else {
      let (isFile, identity) = await IOThreads.background.run {
        (FolderListing.isFile(url), url.resolvingSymlinksInPath())
      }
      guard isFile, let list = try await file(url) else { return nil }
      return (list: list, identity: identity)
    }
    guard let stored = await stored(resource) else {
      let list = try await list(at: resource, isNamed: false, isNested: false)
      return list.map { (list: $0, identity: url) }
    }
    // Broken media may have the name of a list.
    guard stored.bytes.isText || ListKind(beginning: stored.bytes) != nil else { return nil }
    return try await list(stored, of: nil, at: url)
      .map { (list: $0, identity: url) }
  }

  // MARK: Files

  /// Returns the list that a file is; nil for any other file.
  private func file(_ url: URL) async throws -> List? {
    let named = ListKind(named: url)
    let bytes = try await IOThreads.background.run { () throws(MediaCacheError) -> Data? in
      do {
        // Opening a pipe would release its writer, and reading would take what the player needs.
        guard named != nil || FolderListing.isFile(url) else { return nil }
        guard let file = try RegularFile(url) else {
          guard named != nil else { return nil }
          throw MediaCacheError(
            .badURL, "\(url.path(percentEncoded: false)) is not an ordinary file.",
            remedy: "Send the list to standard input: 'refrain play - <FILE'.")
        }
        let beginning = Int64(ListKind.length)
        var bytes = Data(file.bytes(in: 0..<min(file.length, beginning)))
        guard named != nil || ListKind(beginning: bytes) != nil else { return nil }
        // Any file may have a list's name: no more is read than a list can contain.
        if file.length > beginning {
          let end = min(file.length, beginning + Int64(ListKind.longest))
          bytes += file.bytes(in: beginning..<end)
        }
        return bytes
      } catch let error as MediaCacheError {
        throw error
      } catch {
        throw MediaCacheError(
          .storage,
          "The \(named == nil ? "file" : "playlist") could not be read: "
            + error.localizedDescription,
          remedy: "Check the file and its permissions.")
      }
    }
    guard let bytes else { return nil }
    return List(try await parse(bytes, from: url, mimeType: nil), requested: url)
  }

  /// Returns the list on standard input, whose paths are relative to the working directory.
  func standardInput() async throws -> List {
    let bytes = try await StandardInput.read(upTo: ListKind.longest + 1)
    let folder = URL(
      filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
    let source = folder.appending(path: "list.m3u")
    guard ListKind(beginning: bytes) != nil else {
      let plain = try await IOThreads.background.run { () throws(MediaCacheError) -> PlainList in
        try PlainList(bytes)
      }
      return List((plain.entries, plain.skipped), isPlain: true, requested: source)
    }
    return List(try await parse(bytes, from: source, mimeType: nil), requested: source)
  }

  // MARK: The network

  /// Returns the list that a resource is; nil for anything else, also for a stream, which is one
  /// item.
  ///
  /// - Parameter isNamed: whether the name is that of a list. The failure of any other resource is
  ///   not reported: that is the player's part.
  private func list(
    at resource: Resource, isNamed: Bool, isNested: Bool
  ) async throws -> List? {
    // If it is a stream, its segments may need the cookies of this response.
    let reader = try await cache.open(
      cache.possibleStream(resource), fill: isNamed ? .wholeResource : .onDemand)
    var isStream = false
    defer {
      // A stream is about to be played.
      if isStream { cache.keepForOthers(reader) } else { reader.cancel() }
    }
    let patience = isNamed && !isNested ? nil : patience
    let timer = Task {
      guard let patience else { return }
      try await Task.sleep(for: patience)
      reader.cancel()
    }
    defer { timer.cancel() }
    let beginning: Beginning
    do {
      beginning = try await Self.beginning(of: reader)
    } catch is CancellationError {
      try Task.checkCancellation()
      guard isNamed else { return nil }
      throw MediaCacheError(
        .unreachable, "It did not arrive in time.",
        remedy: "Play it by its own URL, which waits for it.")
    } catch let error as MediaCacheError {
      guard isNamed else { return nil }
      throw error
    }
    timer.cancel()
    isStream = StreamKind(beginning: beginning.bytes) != nil
    return try await list(beginning, of: reader, at: resource.url)
  }

  /// The first bytes; of anything but a text, those that arrive together.
  private struct Beginning {
    /// The URL after redirects.
    var source: URL
    var mimeType: String?
    /// The length of the resource; nil while it is unknown.
    var length: Int64?
    var bytes = Data()
    /// Whether the resource has no more bytes than these.
    var isWhole = false
  }

  private static func beginning(of reader: MediaReader) async throws -> Beginning {
    let information = try await reader.contentInformation()
    var beginning = Beginning(
      source: information.finalURL, mimeType: information.mimeType, length: information.length)
    for try await chunk in reader.chunks(in: 0..<Int64(ListKind.length)) {
      beginning.bytes.append(chunk)
      guard beginning.bytes.isText else { return beginning }
    }
    beginning.isWhole = beginning.bytes.count < ListKind.length
    return beginning
  }

  /// Returns a resource that is stored whole; nil if it is not, or too long for a list.
  private func stored(_ resource: Resource) async -> Beginning? {
    let key = await cache.storedKey(for: resource)
    // What cannot be read here is requested.
    guard let entry = try? await cache.entry(for: key), entry.isComplete,
      let stored = await cache.storedManifest(for: key)
    else { return nil }
    return Beginning(
      source: stored.url, mimeType: entry.mimeType, length: entry.length,
      bytes: Data(stored.body), isWhole: true)
  }

  /// - Parameter reader: reads what follows the beginning; nil: nothing does.
  private func list(
    _ beginning: Beginning, of reader: MediaReader?, at requested: URL
  ) async throws -> List? {
    var bytes = beginning.bytes
    guard StreamKind(beginning: bytes) == nil else { return nil }
    let (source, type) = (beginning.source, beginning.mimeType)
    let marked = ListKind(beginning: bytes)
    let isNamed =
      ListKind(named: requested) != nil
      || (bytes.isText && ListKind(named: source, mimeType: type) != nil)
    guard marked != nil || isNamed else { return nil }
    // Media with the name of a list may have no end.
    guard marked != nil || bytes.isText else {
      throw MediaCacheError(
        .invalidResponse, "The file is not a playlist: it is not text.",
        remedy: "If it is media, play it directly.")
    }
    // Parsing reports one that exceeds the limit as an error.
    let limit = Int64(ListKind.longest) + 1
    let end = min(beginning.length ?? limit, limit)
    if let reader, !beginning.isWhole, Int64(bytes.count) < end {
      for try await chunk in reader.chunks(in: Int64(bytes.count)..<end) { bytes.append(chunk) }
      guard StreamKind(beginning: bytes) == nil else { return nil }
    }
    return List(
      try await parse(bytes, from: source, mimeType: type), requested: requested, source: source)
  }

  /// Parses on a thread for long work.
  private func parse(
    _ bytes: Data, from url: URL, mimeType: String?
  ) async throws(MediaCacheError) -> Parsed {
    try await IOThreads.background.run { () throws(MediaCacheError) -> Parsed in
      switch ListKind(beginning: bytes) ?? ListKind(named: url, mimeType: mimeType) {
      case .feed:
        let feed = try Feed(bytes, from: url)
        return (feed.episodes, feed.skipped)
      case .playlist, nil:
        let playlist = try Playlist(bytes, from: url, mimeType: mimeType)
        return (playlist.entries, playlist.skipped)
      }
    }
  }
}

extension Data {
  /// Whether the bytes may be the beginning of a text, in UTF-16 too.
  fileprivate var isText: Bool {
    if starts(with: [0xFF, 0xFE]) || starts(with: [0xFE, 0xFF]) { return true }
    return !contains { $0 < 0x09 || (0x0E..<0x20).contains($0) && $0 != 0x1B }
  }
}
