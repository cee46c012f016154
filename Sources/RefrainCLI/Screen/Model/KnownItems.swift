// SPDX-License-Identifier: MIT
import Refrain
import RefrainPlayer

/// Facts about an item of the queue, learned while it was played or looked up.
struct KnownItem: Sendable, Hashable {
  var title: String?
  var artist: String?
  var album: String?
  var duration: Duration?
  /// The stored part, 0…1.
  var cached: Double?
  var hasFailed = false
  /// The reason of the last failed request that is sent again; nil once bytes come.
  var trouble: String?
}

/// The known facts about the items of a queue. A pure value.
///
/// Relies on events only: when they are handled, the player may be at another item already.
struct KnownItems: Sendable {
  private(set) var items: [PlayQueue.Item.ID: KnownItem] = [:]
  /// Grows with each change.
  private(set) var version = 0
  /// The item last reported as current.
  private var current: PlayQueue.Item.ID?

  mutating func note(_ event: PlayerEvent) {
    switch event {
    case .item(let item): current = item?.id
    case .failed(let item, _): change(item.id) { $0.hasFailed = true }
    case .started(let item, _): change(item.id) { ($0.hasFailed, $0.trouble) = (false, nil) }
    case .status(.playing), .status(.paused): change { $0.trouble = nil }
    case .metadata(let metadata):
      change { known in
        if let title = metadata.title, !title.isEmpty { known.title = title }
        if let artist = metadata.artist, !artist.isEmpty { known.artist = artist }
        if let album = metadata.album, !album.isEmpty { known.album = album }
      }
    case .duration(let duration?): change { $0.duration = duration }
    case .cached(let progress?): change { $0.cached = progress.fraction }
    case .streamProgress(let progress?): change { $0.cached = progress.fraction }
    default: break
    }
  }

  mutating func note(cached: Double?, of id: PlayQueue.Item.ID) {
    change(id) { $0.cached = cached }
  }

  mutating func note(trouble: String, of id: PlayQueue.Item.ID) {
    change(id) { $0.trouble = trouble }
  }

  private mutating func change(_ body: (inout KnownItem) -> Void) {
    if let current { change(current, body) }
  }

  private mutating func change(_ id: PlayQueue.Item.ID, _ body: (inout KnownItem) -> Void) {
    let before = items[id] ?? KnownItem()
    var after = before
    body(&after)
    guard after != before else { return }
    items[id] = after
    version += 1
  }
}

/// Whether the rows of a screen still show the queue: thousands of rows are not built again for each
/// picture. A pure value.
struct ShownQueue: Sendable {
  private var queue: PlayQueue?
  private var version = 0

  /// Returns whether the rows differ from those of the last call, and counts them as shown.
  mutating func isNews(_ state: PlayerState, _ known: KnownItems) -> Bool {
    // Values that share their storage are compared at once.
    guard queue != state.queue || version != known.version else { return false }
    (queue, version) = (state.queue, known.version)
    return true
  }
}

/// The speed at which the current item comes from its origin.
struct ScreenTraffic {
  private var item: PlayQueue.Item.ID?
  private var speed = Speed()
  private let start = ContinuousClock.now

  /// Returns bytes per second; nil if nothing is being fetched.
  mutating func speed(_ state: PlayerState) -> Double? {
    guard let statistics = state.statistics else { return nil }
    if state.item?.id != item {
      item = state.item?.id
      speed = Speed()
    }
    speed.note(bytes: statistics.bytesFromOrigin, at: ContinuousClock.now - start)
    let now = max(0, speed.bytesPerSecond ?? 0)
    return state.fetching.isEmpty && now < 1024 ? nil : now
  }
}

/// The recent messages, which disappear after a while. A pure value.
struct ScreenMessages: Sendable {
  /// The time for which a message is shown; errors stay longer.
  static let lifetime = Duration.seconds(20)
  static let errorLifetime = Duration.seconds(60)
  private static let most = 6

  private var messages: [(message: ScreenModel.Message, end: ContinuousClock.Instant)] = []

  mutating func add(_ message: ScreenModel.Message, at now: ContinuousClock.Instant) {
    // A repeated message is shown once.
    messages.removeAll { $0.message == message }
    let lifetime = message.level == .error ? Self.errorLifetime : Self.lifetime
    messages.append((message, now + lifetime))
    if messages.count > Self.most { messages.removeFirst() }
  }

  /// Returns the messages, the oldest first.
  mutating func current(at now: ContinuousClock.Instant) -> [ScreenModel.Message] {
    messages.removeAll { $0.end <= now }
    return messages.map(\.message)
  }
}

extension ScreenModel.Message {
  /// Creates a message from a line meant for standard error.
  init(noted line: String) {
    let mark = "refrain: "
    self =
      line.hasPrefix(mark)
      ? Self(text: String(line.dropFirst(mark.count)), level: .warning) : Self(text: line)
  }
}
