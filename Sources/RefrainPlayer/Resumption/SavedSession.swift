// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import RefrainLocks

/// Keeps the last queue and the position in it, so that a later program goes on there
/// (`Player.Configuration.savedSession`).
///
/// Two files with mode 0600: the queue, which is replaced when it changes, and the place in it,
/// which is replaced in each second that plays. A program may end at any time: a reader finds a
/// whole queue, and a place in it. The queue contains the headers of its media, and thus tokens.
///
/// A paused player, and one that has ended, are also found after a power cut.
///
/// Of several programs that play at once, the last one to begin stores its queue. Another one goes
/// on storing when that one has stopped.
public final class SavedSession: Sendable {
  /// The queue as it is stored.
  private struct Queue: Codable {
    var version = 1
    /// Random, and another one each time that the queue is stored.
    var id: UUID
    /// With the place at the time of writing.
    var session: PlayerSession
  }

  /// The place as it is stored.
  private struct Place: Codable {
    /// `Queue.id`. A place in another queue does not count.
    var id: UUID
    var date: Date
    var item: UInt64?
    var position: Double
    var rate: Double
    var volume: Double
    var isMuted: Bool
    var audio: TrackChoice?
    var subtitle: TrackChoice?
  }

  /// What this program has stored.
  private struct Stored {
    var id: UUID
    var queue: PlayQueue
    /// `PrivateFiles.identity` of the queue's file.
    var file: String?
  }

  private struct State {
    var next: (session: PlayerSession, syncs: Bool)?
    var writer: Task<Void, Never>?
    var hasReported = false
    /// Whether the files are to be synced; until that has succeeded.
    var owesSync = false
  }

  private let files: PrivateFiles
  private let directory: URL?
  /// The time without a change after which another program counts as stopped.
  private let silence: TimeInterval
  private let warn: @Sendable (String) -> Void
  private let state = Mutex(State())
  private let stored = Mutex<Stored?>(nil)

  private static let queueName = "queue"
  private static let placeName = "queue-place"
  private static let mostBytes = 256 << 20

  /// - Parameters:
  ///   - cache: receives a warning if the queue cannot be stored.
  ///   - directory: where the queue is stored, and nothing else; it is made if it is missing. Nil:
  ///     in the cache's directory, where `MediaCache.removeAll` removes it.
  public convenience init(for cache: MediaCache, in directory: URL? = nil) {
    self.init(for: cache, in: directory, silence: 5)
  }

  init(for cache: MediaCache, in directory: URL?, silence: TimeInterval) {
    files = directory.map { PrivateFiles(at: $0) } ?? cache.privateFiles
    self.directory = directory
    self.silence = silence
    warn = { [weak cache] in cache?.report(warning: $0) }
  }

  // MARK: Reading

  /// Returns the stored session, for `Player.restore(_:)`; nil if there is none.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if it cannot be read, or is damaged.
  public func load() async throws -> PlayerSession? {
    let files = files
    do {
      return try await IOThreads.background.run { try Self.read(from: files) }
    } catch {
      throw MediaCacheError(
        .storage,
        "The last queue could not be read from \(files.path(of: Self.queueName)): \(error).",
        remedy: "Name the files and URLs to play: that replaces it.")
    }
  }

  private static func read(from files: PrivateFiles) throws -> PlayerSession? {
    // Replacing both files takes two steps.
    try files.withLock {
      guard let bytes = try files.contents(of: queueName, limit: mostBytes) else { return nil }
      let queue = try JSONDecoder().decode(Queue.self, from: Data(bytes))
      var session = queue.session
      if let place = place(in: files), place.id == queue.id,
        place.item == session.queue.current?.id.rawValue
      {
        (session.position, session.rate) = (place.position, place.rate)
        (session.volume, session.isMuted) = (place.volume, place.isMuted)
        (session.audio, session.subtitle) = (place.audio, place.subtitle)
      }
      return session
    }
  }

  /// Returns the stored place; nil if there is none, or it is damaged.
  private static func place(in files: PrivateFiles) -> Place? {
    (try? files.contents(of: placeName, limit: 64 << 10)).flatMap {
      try? JSONDecoder().decode(Place.self, from: Data($0))
    }
  }

  // MARK: Storing

  /// Stores a session soon, in place of those that were not stored yet. Returns at once.
  ///
  /// - Parameters:
  ///   - session: the queue, its current item and the position.
  ///   - syncs: whether it then survives a power cut too, not only the end of the program.
  public func save(_ session: PlayerSession, syncs: Bool = true) {
    state.withLock { state in
      state.next = (session, syncs || state.next?.syncs == true)
      guard state.writer == nil else { return }
      state.writer = Task(executorPreference: IOThreads.background) { self.write() }
    }
  }

  /// Returns when the last session is stored.
  public func flush() async {
    while let writer = state.withLock({ $0.writer }) { await writer.value }
  }

  /// Stores the sessions until there are none. Blocks.
  private func write() {
    while let session = next() {
      var problem: String?
      do {
        try stored.withLock { stored in
          if stored == nil { prepare() }
          try write(session, &stored)
        }
        // The names are synced without the lock, for which other programs wait.
        if state.withLock({ $0.owesSync }) {
          try files.sync([Self.queueName, Self.placeName])
          state.withLock { $0.owesSync = false }
        }
      } catch {
        problem = "\(error)"
      }
      report(problem)
    }
  }

  private func report(_ problem: String?) {
    let isNews = state.withLock { state in
      defer { state.hasReported = problem != nil }
      return !state.hasReported
    }
    if let problem, isNews { warn("The queue could not be stored: \(problem).") }
  }

  private func next() -> PlayerSession? {
    state.withLock { state in
      defer { state.next = nil }
      if state.next == nil { state.writer = nil }
      if state.next?.syncs == true { state.owesSync = true }
      return state.next?.session
    }
  }

  /// Makes the directory, and removes what an earlier program did not finish.
  private func prepare() {
    // A failure of either makes storing fail, or does not matter.
    if let directory {
      try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
    try? files.removeOld(withPrefix: Self.queueName)
  }

  private func write(_ session: PlayerSession, _ stored: inout Stored?) throws {
    try files.withLock {
      guard let isNewQueue = try needsQueue(session, stored) else { return }
      let id = (isNewQueue ? nil : stored?.id) ?? UUID()
      if isNewQueue {
        // Synced before it is put in place: a power cut must not leave an empty queue.
        try files.replace(Self.queueName, with: Self.encoded(Queue(id: id, session: session)))
        stored = Stored(
          id: id, queue: session.queue, file: try files.identity(of: Self.queueName))
        state.withLock { $0.owesSync = true }
      }
      let now = Place(
        id: id, date: Date(), item: session.queue.current?.id.rawValue,
        position: session.position, rate: session.rate, volume: session.volume,
        isMuted: session.isMuted, audio: session.audio, subtitle: session.subtitle)
      try files.replace(Self.placeName, with: Self.encoded(now), syncs: false)
    }
  }

  /// Whether the queue has to be stored, not only the place in it; nil if another program has begun
  /// to play since, and plays on.
  private func needsQueue(_ session: PlayerSession, _ stored: Stored?) throws -> Bool? {
    guard let stored, let file = try files.identity(of: Self.queueName) else { return true }
    let place = Self.place(in: files)
    if stored.id == place?.id, stored.file == file { return stored.queue != session.queue }
    if let place, abs(place.date.timeIntervalSinceNow) < silence { return nil }
    return true
  }

  private static func encoded(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
