// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks
import RefrainPlayer

/// Follows one stream (HLS or DASH) through the events of the cache: how much of it is stored in
/// time, which segments failed, and whether its broadcast has ended. Makes no request.
///
/// Reports at once and on each change, at most four times a second, until this object is released.
/// The manifest has to be stored: nothing is known of a stream whose origin forbids that.
final class StreamFollower: StreamFollowing {
  let resource: Resource
  private let known: Known
  private let post: AsyncStream<Void>.Continuation
  private let tasks: [Task<Void, Never>]

  static let interval = Duration.milliseconds(250)

  /// See `StreamSupport.follow`.
  init(
    of resource: Resource, in cache: MediaCache, isSoundOnly: Bool,
    report: @escaping @MainActor (StreamProgress?) -> Void
  ) {
    self.resource = resource
    let known = Known()
    self.known = known
    let (news, post) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.post = post
    post.yield()
    let events = cache.events(includingTraffic: false)
    let reading = StreamReading(cache: cache, resource: resource, isSoundOnly: isSoundOnly)
    tasks = [
      Task {
        for await event in events where known.note(event) { post.yield() }
        post.finish()
      },
      Task {
        for await _ in news {
          // Cancelled: nobody wants the result.
          do { try await reading.update(known) } catch { return }
          if let news = known.settle() { await report(news) }
          // On cancellation, the stream ends.
          try? await Task.sleep(for: Self.interval)
        }
      },
    ]
  }

  deinit {
    for task in tasks { task.cancel() }
  }

  var progress: StreamProgress? { known.progress }

  var hasEnded: Bool { known.look(\.hasEnded) ?? false }

  var liveChanges: Int? { known.look { $0.liveChanges } ?? nil }

  var liveTarget: Duration? { known.look { $0.liveTarget } ?? nil }

  var liveAnswers: [Uptime] { known.look(\.liveAnswers) ?? [] }

  func readLiveAgain() {
    known.change { $0.readLiveAgain() }
    post.yield()
  }

  var bandwidth: Int64? {
    let bandwidth = known.look { $0.variant?.bandwidth } ?? nil
    return bandwidth.flatMap { $0 > 0 ? $0 : nil }
  }

  func permanentFailure(after position: Duration) -> MediaCacheError? {
    known.look { $0.permanentFailure(after: position) } ?? nil
  }

  /// What is known of the stream, behind a lock.
  final class Known: Sendable {
    private struct State {
      var map: StreamMap?
      var progress: StreamProgress?
      /// Events from before the manifest was read.
      var early: [CacheEvent] = []
    }

    private let state = Mutex(State())
    private static let mostEarly = 256

    var map: StreamMap? { state.withLock(\.map) }
    var progress: StreamProgress? { state.withLock(\.progress) }

    /// Returns whether the stream may have changed.
    func note(_ event: CacheEvent) -> Bool {
      state.withLock { state in
        guard state.map == nil else { return state.map?.note(event) ?? false }
        guard event.streamKey != nil else { return false }
        if state.early.count < Self.mostEarly { state.early.append(event) }
        return event.changesStored
      }
    }

    func begin(with map: StreamMap) {
      state.withLock { state in
        state.map = map
        for event in state.early { state.map?.note(event) }
        state.early = []
      }
    }

    /// Returns what a computation reads of the map. Without copying the map, whose next change would
    /// then copy all of a playlist.
    func look<Result>(_ body: (StreamMap) -> Result) -> Result? {
      state.withLock { state in
        guard let map = state.map else { return nil }
        return body(map)
      }
    }

    func change<Result>(_ body: (inout StreamMap) -> Result) -> Result? {
      state.withLock { state in
        guard var map = state.map else { return nil }
        state.map = nil
        defer { state.map = map }
        return body(&map)
      }
    }

    /// Returns the progress if it has changed.
    func settle() -> StreamProgress?? {
      state.withLock { state in
        let now = state.map?.progress
        guard now != state.progress else { return nil }
        state.progress = now
        return .some(now)
      }
    }
  }
}
