// SPDX-License-Identifier: MIT
import Refrain

/// Reads the tags of the items of a queue before they play, one media after the other; nothing
/// while playback waits.
@MainActor
final class TagReader {
  typealias Found = [(item: PlayQueue.Item, tags: MediaMetadata)]

  /// Receives the tags that were found: the first at once, then at most ten times a second.
  var report: ((Found) -> Void)?

  private let cache: MediaCache
  private var plan = TagPlan()
  private var preferred: [PlayQueue.Item.ID] = []
  /// The resource that is being fetched already.
  private var busy: Resource?
  private var looking: Task<Void, Never>? { didSet { oldValue?.cancel() } }
  private var found: Found = []
  private var reporting: Task<Void, Never>?

  /// The time between two reports.
  private static let pause = Duration.milliseconds(100)

  init(cache: MediaCache) { self.cache = cache }

  deinit {
    looking?.cancel()
    reporting?.cancel()
  }

  /// Looks up these items first.
  func prefer(_ items: [PlayQueue.Item.ID]) { preferred = items }

  /// Brings the work up to date with a player.
  ///
  /// - Parameter busy: the resource that is being prefetched.
  func update(_ state: PlayerState, busy: Resource?) {
    self.busy = busy
    add(plan.update(state.queue, preferred: preferred).filter { state.itemTags[$0.0.id] != $0.1 })
    let isLooking = looking != nil
    // Once begun, it goes on until playback waits.
    guard state.isUnhurried || isLooking && state.status.isCalm else {
      looking = nil
      return
    }
    guard !isLooking, plan.next(besides: busy) != nil else { return }
    looking = Task { [weak self] in await Self.look { self } }
  }

  func cancel() {
    looking = nil
    reporting?.cancel()
    (report, found) = (nil, [])
  }

  /// Looks up one media after the other. Does not keep the object meanwhile.
  private static func look(for reader: () -> TagReader?) async {
    while let subject = reader()?.next(), let cache = reader()?.cache {
      let isOnlyStored = reader()?.plan.isOnlyStored(subject) == true
      let lookup = TagLookup(cache: cache, subject: subject, isOnlyStored: isOnlyStored)
      // Thrown by cancellation alone.
      guard let answer = try? await lookup.run(), !Task.isCancelled else { return }
      reader()?.note(answer, of: subject)
    }
  }

  /// Returns nil, and ends the work, if nothing is left to do.
  private func next() -> TagSubject? {
    if let subject = plan.next(besides: busy) { return subject }
    looking = nil
    return nil
  }

  private func note(_ answer: TagLookup.Answer, of subject: TagSubject) {
    add(plan.note(answer, of: subject))
  }

  // MARK: Reporting

  private func add(_ more: [(PlayQueue.Item, MediaMetadata)]) {
    guard !more.isEmpty else { return }
    found += more.map { (item: $0.0, tags: $0.1) }
    guard reporting == nil else { return }
    reporting = Task { [weak self] in
      while self?.send() == true {
        // On cancellation, the loop ends.
        try? await Task.sleep(for: Self.pause)
        if Task.isCancelled { return }
      }
    }
  }

  /// Returns whether there was something to report; if not, the reporting has ended.
  private func send() -> Bool {
    guard !found.isEmpty else {
      reporting = nil
      return false
    }
    let now = found
    found = []
    report?(now)
    return true
  }
}

extension PlaybackStatus {
  /// Whether it is one in which nothing waits for bytes.
  fileprivate var isCalm: Bool {
    switch self {
    case .playing, .paused: true
    case .idle, .loading, .buffering, .ended, .failed: false
    }
  }
}
