// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Gives up the segments of live streams that nobody needs any more, under a small budget of their
/// own (`MediaCache.demotedLimit`), before other streams have to make room.
final class SlidOutEviction: Sendable {
  /// A playlist that a client was given.
  private struct Given: Sendable {
    var body: [UInt8]
    var url: URL
    var requested: URL
    var stream: CacheKey
    var imported: [String: String]
    /// In seconds.
    var time: Double
    var hash: UInt64
  }

  private struct Seen: Sendable {
    var hash: UInt64
    /// When the same playlist names other segments, in seconds.
    var until = Double.infinity
  }

  private struct State {
    var segments = SlidOutSegments()
    /// The playlists that have yet to be read, the oldest first.
    var pending: [Given] = []
    /// The last playlists, by hashes: most clients receive one that another client was given.
    var seen: [Seen] = []
    var work: Task<Void, Never>?
    var search: Task<Void, Never>?
    var isOver = false
  }

  private static let seenCapacity = 64
  /// Of more, the oldest are not read: segments that only they list are evicted in the usual order.
  private static let mostPending = 16

  private let cache: MediaCache
  private let growing: GrowingSegments
  private let state = Mutex(State())

  /// - Parameter growing: receives the segments of low-latency playlists that still grow.
  init(cache: MediaCache, growing: GrowingSegments) {
    self.cache = cache
    self.growing = growing
  }

  /// Notes a playlist that a client is given.
  ///
  /// - Parameters:
  ///   - url: the URL to which references are relative.
  ///   - requested: the URL of the request.
  ///   - stream: the key of the first manifest of its stream.
  ///   - imported: the variables of the multivariant playlist that names this one.
  ///   - isAtOnce: whether to read the playlist before this returns, for clients that request what
  ///     still grows. Otherwise they need not wait for it: a long one takes milliseconds.
  func note(
    _ body: [UInt8], url: URL, requested: URL, of stream: CacheKey, imported: [String: String],
    isAtOnce: Bool
  ) {
    let hash = BodyHash.of(body) ^ (StreamParts.hash(requested.absoluteString.utf8) &* 31)
    let time = cache.now.wall.timeIntervalSince1970
    if isNew(hash, at: time) {
      let given = Given(
        body: body, url: url, requested: requested, stream: stream, imported: imported, time: time,
        hash: hash)
      if isAtOnce {
        read(given)
      } else {
        state.withLock { state in
          if state.pending.count >= Self.mostPending { state.pending.removeFirst() }
          state.pending.append(given)
        }
      }
    }
    beginWork()
    beginSearch()
  }

  private func read(_ given: Given) {
    let version = SlidOutSegments.Version(
      reading: given.body, url: given.url, requested: given.requested, of: given.stream,
      imported: given.imported, at: given.time,
      key: { [cache] in cache.key(for: Resource(url: $0)) })
    guard let version else { return }
    growing.insert(version.growing)
    state.withLock { state in
      state.segments.note(version, at: given.time)
      guard let pace = version.pace,
        let index = state.seen.firstIndex(where: { $0.hash == given.hash })
      else { return }
      state.seen[index].until = given.time + max(pace, 1)
    }
  }

  /// Waits for running work, and begins no more.
  func stop() async {
    let (work, search) = state.withLock { state in
      state.isOver = true
      return (state.work, state.search)
    }
    search?.cancel()
    await work?.value
    await search?.value
  }

  private func isNew(_ hash: UInt64, at time: Double) -> Bool {
    state.withLock { state in
      if let index = state.seen.firstIndex(where: { $0.hash == hash }) {
        guard state.seen[index].until <= time else { return false }
        state.seen.remove(at: index)
      }
      if state.seen.count >= Self.seenCapacity { state.seen.removeFirst() }
      state.seen.append(Seen(hash: hash))
      return true
    }
  }

  // MARK: Work

  private func beginWork() {
    state.withLock { state in
      guard state.work == nil, !state.isOver else { return }
      let due = state.segments.takeDue(at: cache.now.wall.timeIntervalSince1970)
      guard !due.isEmpty || !state.pending.isEmpty else { return }
      state.work = Task {
        await self.giveUp(due)
        await IOThreads.background.run { self.readPending() }
        self.state.withLock { $0.work = nil }
        // What was noted meanwhile.
        if self.state.withLock({ !$0.pending.isEmpty }) { self.beginWork() }
        self.beginSearch()
      }
    }
  }

  /// Looks for what slid out before, off every request's path.
  private func beginSearch() {
    state.withLock { state in
      guard state.search == nil, !state.isOver else { return }
      let searches = state.segments.takeSearches(at: cache.now.wall.timeIntervalSince1970)
      guard !searches.isEmpty else { return }
      state.search = Task(priority: .background) {
        // The cache reports a directory that cannot be read; what slid out is evicted in its order.
        let searching = SlidOutSearching(cache: self.cache) { playlist in
          self.state.withLock { $0.segments.knows(playlist) }
        }
        let found = try? await searching.parts(of: searches)
        self.state.withLock { state in
          let time = self.cache.now.wall.timeIntervalSince1970
          for (search, keys) in zip(searches, found ?? []) {
            if let keys {
              state.segments.leave(keys, of: search, at: time)
            } else {
              state.segments.repeatLater(search)
            }
          }
          state.search = nil
        }
      }
    }
  }

  private func readPending() {
    while let given = state.withLock({ $0.pending.isEmpty ? nil : $0.pending.removeFirst() }) {
      read(given)
    }
  }

  private func giveUp(_ due: [SlidOutSegments.Departed]) async {
    for entry in due {
      let now = cache.now.wall
      let outcomes = await cache.demote(
        [entry.key], of: entry.streams, unusedSince: now - entry.grace)
      state.withLock { state in
        switch outcomes.first {
        case .demoted(let bytes): state.segments.demote(entry.key, bytes: bytes)
        case .used(let time):
          state.segments.postpone(entry, usedAt: time.timeIntervalSince1970)
        case .inUse: state.segments.postpone(entry, usedAt: now.timeIntervalSince1970)
        case .pinned, .foreign, .missing, nil: break
        }
      }
    }
    let excess = state.withLock { [limit = cache.demotedLimit] in
      $0.segments.takeExcess(over: limit)
    }
    if !excess.isEmpty { _ = await cache.removeDemoted(excess) }
  }
}
