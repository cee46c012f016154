// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import RefrainLocks

/// A live HTTP Live Stream that is recorded while a player plays or pauses it, so that the player can
/// go back (`CacheProxy.record(_:keeping:)`).
///
/// The playlists at `url` are of type EVENT: they begin at a segment, and grow. The player plays them
/// from their first segment on; to play another part, it calls `begin(at:)` and loads `url` again.
/// The variants and renditions are recorded of which the player requests segments. Their playlists
/// are reloaded, and each new segment is stored in the cache, as if the player requested it, until
/// `stop()` or until this object is released.
///
/// Times are sums of the segments' durations (EXTINF) in seconds, from the first segment that was in
/// the origin's playlist at the beginning. A stream with an end plays as always, without a window.
///
/// All methods may be called from any thread.
public final class StreamRecording: Sendable {
  /// The proxy's URL of the stream.
  public let url: URL
  /// In seconds.
  private let keeping: Double
  private let pause: @Sendable (Duration) async throws -> Void
  private let state = Mutex(State())

  fileprivate struct State {
    var recorded = RecordingState()
    /// By the keys of the playlists' URLs.
    var sources: [CacheKey: PlaylistSource] = [:]
    var following: [CacheKey: Following] = [:]
    var failures: [CacheKey: MediaCacheError] = [:]
    /// What led the player to the playlists: it loads that again for each jump.
    var entrances: [CacheKey: Entrance] = [:]
    var isOver = false

    mutating func insert(_ entrance: Entrance, of name: CacheKey) {
      guard !isOver, entrances[name] != nil || entrances.count < StreamRecording.mostEntrances
      else { return }
      entrances[name] = entrance
    }
  }

  /// What a client of the recording is given without a request to the origin.
  enum Entrance: Sendable {
    case playlist([UInt8], PlaylistSource)
    /// The target of a redirect.
    case redirection(String)
  }

  private static let mostEntrances = 16

  /// Reloads a playlist, and stores its segments.
  fileprivate struct Following {
    let task: Task<Void, Never>
    /// Receives a value when there are new segments.
    let news: AsyncStream<Void>.Continuation
  }

  /// - Parameter pause: waits between two reloads.
  init(
    url: URL, keeping: Duration, pause: @escaping @Sendable (Duration) async throws -> Void
  ) {
    (self.url, self.keeping, self.pause) = (url, keeping / .seconds(1), pause)
  }

  deinit { stop() }

  // MARK: For the player

  /// The times that can be played, in seconds; nil while nothing is recorded, and for a stream that
  /// is not live.
  public var window: Range<Double>? { state.withLock(\.recorded.window) }

  /// The distance from the end of the window at which live playback goes on, in seconds: three
  /// target durations (RFC 8216 §6.3.3).
  public var lead: Double { 3 * state.withLock(\.recorded.targetDuration) }

  /// Where the playlists at `url` begin now, in seconds; nil while none was requested.
  public var start: Double? { state.withLock(\.recorded.start) }

  /// Why the origin's playlists cannot be reloaded at present; nil if they can.
  public var failure: MediaCacheError? { state.withLock { $0.failures.values.first } }

  /// Has the playlists at `url` begin with the segments that are played at a time, or the nearest
  /// ones. The player then has to load `url` again.
  ///
  /// - Parameter time: in seconds; nil: near the present.
  /// - Returns: the time at which they begin, in seconds; nil while nothing is recorded.
  public func begin(at time: Double?) -> Double? {
    state.withLock { state in
      state.recorded.begin(at: time)
      return state.recorded.start
    }
  }

  /// Ends the recording: the playlists at `url` are the origin's from now on.
  public func stop() {
    let over = state.withLock { state in
      defer {
        (state.following, state.sources, state.entrances) = ([:], [:], [:])
        (state.recorded, state.isOver) = (RecordingState(), true)
      }
      return Array(state.following.values)
    }
    for following in over { following.end() }
  }

  // MARK: For the proxy

  /// Takes a version of a playlist that a client has requested, and returns the playlist that the
  /// client is given; nil if it is not recorded: the client is given this version.
  func take(_ body: [UInt8], from source: PlaylistSource) -> [UInt8]? {
    let name = source.key
    guard let version = HLSMediaPlaylist(body, url: source.base, imported: source.imported) else {
      if HLSMultivariantPlaylist(body, url: source.base) != nil {
        state.withLock { $0.insert(.playlist(body, source), of: name) }
      }
      return nil
    }
    return state.withLock { state in
      let isRecorded =
        !state.isOver
        && state.recorded.take(version, of: name, at: source.time, key: source.key(of:))
      guard isRecorded else { return nil }
      state.sources[name] = source
      state.following[name]?.news.yield()
      return state.recorded.text(of: name)
    }
  }

  /// Records where the client is redirected that requests a playlist.
  func note(redirection target: String, of name: CacheKey) {
    state.withLock { $0.insert(.redirection(target), of: name) }
  }

  /// Returns what a client is given that requests a followed playlist again, or what led it there;
  /// nil if the origin's response counts.
  func entrance(_ name: CacheKey) -> Entrance? {
    let (entrance, over) = state.withLock { state -> (Entrance?, [Following]) in
      guard state.following[name] != nil, let source = state.sources[name],
        let text = state.recorded.text(of: name)
      else { return (state.following.isEmpty ? nil : state.entrances[name], []) }
      let unused = state.recorded.noteReload(of: name)
      for name in unused { (state.failures[name], state.sources[name]) = (nil, nil) }
      return (
        .playlist(text, source), unused.compactMap { state.following.removeValue(forKey: $0) }
      )
    }
    for following in over { following.end() }
    return entrance
  }

  /// Records that a client requests a resource of the stream. A playlist is followed once one of
  /// its segments is requested.
  func noteRequest(for resource: CacheKey) {
    state.withLock { state in
      guard !state.isOver else { return }
      for name in state.recorded.noteRequest(for: resource) {
        state.following[name] = Following(
          reload: { [weak self, pause] in
            while let interval = self?.interval(of: name) {
              do { try await pause(interval) } catch { return }
              await self?.reload(name)
            }
          }, store: { [weak self] in await self?.store(name) })
      }
    }
  }

  // MARK: Following

  private func interval(of name: CacheKey) -> Duration? {
    state.withLock { $0.recorded.interval(of: name) }.map { .seconds($0) }
  }

  /// Loads a playlist again, takes its new segments, and drops old ones.
  func reload(_ name: CacheKey) async {
    guard let source = state.withLock({ $0.sources[name] }) else { return }
    do {
      let version = try await source.load()
      state.withLock { state in
        state.failures[name] = nil
        let hasNew = state.recorded.note(version, of: name, at: source.time)
        if state.recorded.tryAgain(name) || hasNew { state.following[name]?.news.yield() }
      }
    } catch is CancellationError {
      return
    } catch {
      let error = error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)")
      state.withLock { state in
        guard state.following[name] != nil else { return }
        state.failures[name] = error
        if error.code == .invalidResponse || error.status.map(isRefusal) == true {
          state.recorded.noteRefusal(of: name)
        }
      }
    }
    await drop(name)
  }

  /// Stores the segments that were not stored yet, and drops old ones.
  func store(_ name: CacheKey) async {
    guard let source = state.withLock({ $0.sources[name] }) else { return }
    while !Task.isCancelled,
      let next = state.withLock({ [keeping] in $0.recorded.takeNext(of: name, keeping: keeping) })
    {
      var isWhole = true
      for part in next.others where await source.store(part) == nil { isWhole = false }
      let bytes = await source.store(next.segment)
      state.withLock { state in
        if let bytes { state.recorded.noteStored(bytes, of: next.number, in: name) }
        // While the origin offers it, each reload tries again.
        if bytes == nil || !isWhole { state.recorded.noteFailed(next.number, in: name) }
      }
    }
    await drop(name)
  }

  /// Drops segments that the origin no longer offers: those beyond what is kept, and those that are
  /// not stored.
  private func drop(_ name: CacheKey) async {
    while !Task.isCancelled, let source = state.withLock({ $0.sources[name] }) {
      let limit = source.cache.limit.map { $0 / 2 } ?? .max
      let oldest = state.withLock { [keeping] in
        $0.recorded.oldest(of: name, keeping: keeping, limit: limit)
      }
      guard let oldest else { return }
      if !oldest.isDue, await source.isStored(oldest.segment) { return }
      state.withLock { _ = $0.recorded.drop(oldest.number, of: name) }
    }
  }
}

/// Whether a status says that the origin does not give the playlist to this client, for good.
private func isRefusal(_ status: Int) -> Bool {
  [401, 403, 404, 410, 451].contains(status)
}

extension StreamRecording.Following {
  /// - Parameters:
  ///   - reload: runs until the playlist is complete.
  ///   - store: runs at first, and whenever there are new segments.
  fileprivate init(
    reload: @escaping @Sendable () async -> Void, store: @escaping @Sendable () async -> Void
  ) {
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    news.yield()
    self.news = news
    task = Task {
      async let stored: Void = { for await _ in stream { await store() } }()
      await reload()
      await stored
    }
  }

  fileprivate func end() {
    task.cancel()
    news.finish()
  }
}
