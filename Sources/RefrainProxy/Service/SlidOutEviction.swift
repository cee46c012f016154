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
  }

  private struct State {
    var segments = SlidOutSegments()
    /// The playlists that have yet to be read, the oldest first.
    var pending: [Given] = []
    /// The last playlists, by hashes: most clients receive one that another client was given.
    var seen: [UInt64] = []
    var work: Task<Void, Never>?
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
    if isNew(hash) {
      let given = Given(
        body: body, url: url, requested: requested, stream: stream, imported: imported,
        time: cache.now.wall.timeIntervalSince1970)
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
  }

  private func read(_ given: Given) {
    let version = SlidOutSegments.Version(
      given.body, url: given.url, requested: given.requested, of: given.stream,
      imported: given.imported, key: { [cache] in cache.key(for: Resource(url: $0)) })
    guard let version else { return }
    growing.insert(version.growing)
    state.withLock { $0.segments.note(version, at: given.time) }
  }

  /// Waits for running work, and begins no more.
  func stop() async {
    let work = state.withLock { state in
      state.isOver = true
      return state.work
    }
    await work?.value
  }

  private func isNew(_ hash: UInt64) -> Bool {
    state.withLock { state in
      if state.seen.contains(hash) { return false }
      if state.seen.count >= Self.seenCapacity { state.seen.removeFirst() }
      state.seen.append(hash)
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
