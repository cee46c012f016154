// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import RefrainLocks

/// Remembers where media were left, each in a small file of its own, so that they go on there.
///
/// ```swift
/// let positions = await PlaybackPositions.open(for: cache)
/// configuration.resumption = Resumption(positions)
/// ```
///
/// Media are identified by the cache's key of their URL (`MediaCache.key(for:)`): a changed
/// signature or an ignored parameter leads to the same position. Files are identified by their
/// paths.
///
/// The files have mode 0600. A reader, and the end of a program at any time, find a whole one.
/// Several programs may use the same directory: each has read the positions when it opened them,
/// and the last one to store a position of a media wins. `MediaCache.removeAll` of the same cache
/// also forgets what was read; a removal by another program removes the files alone.
public final class PlaybackPositions: Sendable {
  private enum Change: Sendable {
    case keep(PlaybackMark, syncs: Bool)
    case languages(TrackLanguages)
    case forget
  }

  private struct State {
    /// By the names of their files.
    var marks: [String: PlaybackMark]
    var languages: TrackLanguages
    var changes: [String: Change] = [:]
    var writer: Task<Void, Never>?
    /// Whether a failure was reported since the last success.
    var hasReported = false
    /// The marks and languages were read, or are newer than this time.
    var since: Uptime
  }

  public let policy: ResumptionPolicy
  private let files: PrivateFiles
  private let cache: MediaCache
  private let state: Mutex<State>

  /// A prefix of file names. A name with a dot is that of a temporary file.
  private static let prefix = "position-"
  private static let languagesName = "languages"
  private static let mostBytes = 64 << 10

  /// Reads the stored positions. Those that cannot be read count as unknown.
  ///
  /// - Parameters:
  ///   - cache: the cache that plays the media.
  ///   - directory: where the positions are stored, and nothing else; it is made if it is missing.
  ///     Nil: in the cache's directory, where `MediaCache.removeAll` removes them.
  ///   - policy: which positions are kept.
  public static func open(
    for cache: MediaCache, in directory: URL? = nil, policy: ResumptionPolicy = ResumptionPolicy()
  ) async -> PlaybackPositions {
    let files = directory.map { PrivateFiles(at: $0) } ?? cache.privateFiles
    let state = await IOThreads.background.run {
      let since = Uptime.now
      // If one of these fails, so does storing, which is reported, or it does not matter.
      if let directory {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      }
      for name in [prefix, languagesName] { try? files.removeOld(withPrefix: name) }
      let languages: TrackLanguages? = read(languagesName, from: files)
      return State(
        marks: readMarks(from: files), languages: languages ?? TrackLanguages(), since: since)
    }
    return PlaybackPositions(files, cache, policy, state)
  }

  private init(
    _ files: PrivateFiles, _ cache: MediaCache, _ policy: ResumptionPolicy, _ state: State
  ) {
    self.files = files
    self.cache = cache
    self.policy = policy
    self.state = Mutex(state)
  }

  // MARK: Using it

  /// Returns where a media was left; nil if it begins at its start. Any thread may call it.
  public func mark(for media: Media) -> PlaybackMark? {
    guard !withState({ $0.marks.isEmpty }) else { return nil }
    let name = name(of: media)
    guard let mark = withState({ $0.marks[name] }),
      policy.keeps(mark.position, of: mark.duration)
    else { return nil }
    return mark
  }

  /// Remembers where a media was left. Returns at once; the position is stored soon.
  ///
  /// - Parameters:
  ///   - mark: the position, with the tracks and the volume chosen.
  ///   - media: the media that was left.
  ///   - syncs: whether it then survives a power cut too, not only the end of the program.
  public func keep(_ mark: PlaybackMark, for media: Media, syncs: Bool = true) {
    let name = name(of: media)
    withState { state in
      state.marks[name] = mark
      change(name, to: .keep(mark, syncs: syncs), &state)
      while state.marks.count > policy.capacity,
        // The new one goes last: the clock may have been set back.
        let oldest = state.marks.min(by: {
          ($0.key == name ? .distantFuture : $0.value.date)
            < ($1.key == name ? .distantFuture : $1.value.date)
        })?.key
      {
        state.marks[oldest] = nil
        change(oldest, to: .forget, &state)
      }
    }
  }

  /// Forgets where a media was left. Returns at once.
  public func forget(_ media: Media) {
    let name = name(of: media)
    withState { state in
      guard state.marks.removeValue(forKey: name) != nil else { return }
      change(name, to: .forget, &state)
    }
  }

  /// The languages of the tracks that the listener selected last, in any media.
  public var languages: TrackLanguages { withState { $0.languages } }

  /// Remembers the languages of selected tracks. Returns at once.
  public func remember(_ languages: TrackLanguages) {
    withState { state in
      state.languages = languages
      change(Self.languagesName, to: .languages(languages), &state)
    }
  }

  /// Returns when all positions are stored.
  public func flush() async {
    while let writer = state.withLock({ $0.writer }) { await writer.value }
  }

  /// Forgets where the resource of a key was left, in the cache's directory. A running player keeps
  /// the position of what it plays.
  package static func remove(_ key: CacheKey, from cache: MediaCache) async throws {
    let files = cache.privateFiles
    do {
      try await IOThreads.background.run {
        try files.remove(files.names(withPrefix: prefix + key.fileName))
      }
    } catch {
      throw MediaCacheError(
        .storage, "The position of \(key.rawValue) could not be removed: \(error).",
        remedy: "Check the permissions of the cache directory.")
    }
  }

  // MARK: Storing

  /// Calls `body` with the state, without anything from before the last removal of all positions.
  private func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      if files.isRemovedHere(since: state.since) {
        (state.marks, state.languages, state.changes) = ([:], TrackLanguages(), [:])
        state.since = .now
      }
      return body(&state)
    }
  }

  private func name(of media: Media) -> String {
    let key =
      media.resource.map { cache.key(for: $0) }
      ?? CacheKey(rawValue: "file " + media.url.standardizedFileURL.path(percentEncoded: false))
    return Self.prefix + key.fileName
  }

  private func change(_ name: String, to change: Change, _ state: inout State) {
    if case .keep(let mark, false) = change, case .keep(_, true) = state.changes[name] {
      state.changes[name] = .keep(mark, syncs: true)
    } else {
      state.changes[name] = change
    }
    guard state.writer == nil else { return }
    state.writer = Task(executorPreference: IOThreads.background) { self.write() }
  }

  /// Performs the changes until there are none. Blocks.
  private func write() {
    while let (name, change, since) = next() {
      var problem: String?
      do {
        switch change {
        case .keep(let mark, let syncs):
          try files.replace(name, with: Self.encoded(mark), syncs: syncs)
        case .languages(let languages): try files.replace(name, with: Self.encoded(languages))
        case .forget: try files.remove([name])
        }
        // All positions were removed in the meantime.
        if files.isRemovedHere(since: since) { try files.remove([name]) }
      } catch {
        problem = "\(error)"
      }
      report(problem)
    }
  }

  /// Returns a change, and a time that is not later than the change.
  private func next() -> (String, Change, since: Uptime)? {
    withState { state in
      guard let name = state.changes.keys.first,
        let change = state.changes.removeValue(forKey: name)
      else {
        state.writer = nil
        return nil
      }
      return (name, change, state.since)
    }
  }

  private func report(_ problem: String?) {
    let isNews = state.withLock { state in
      defer { state.hasReported = problem != nil }
      return !state.hasReported
    }
    guard let problem, isNews else { return }
    cache.report(warning: "The position of playback could not be stored: \(problem).")
  }

  // MARK: The format

  private static func encoded(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array(try encoder.encode(value))
  }

  /// Blocks. A file that cannot be read counts as missing.
  private static func read<Value: Decodable>(_ name: String, from files: PrivateFiles) -> Value? {
    (try? files.contents(of: name, limit: mostBytes)).flatMap {
      try? JSONDecoder().decode(Value.self, from: Data($0))
    }
  }

  /// Blocks.
  private static func readMarks(from files: PrivateFiles) -> [String: PlaybackMark] {
    var marks: [String: PlaybackMark] = [:]
    for name in (try? files.names(withPrefix: prefix)) ?? [] {
      if let mark: PlaybackMark = read(name, from: files) { marks[name] = mark }
    }
    return marks
  }
}
