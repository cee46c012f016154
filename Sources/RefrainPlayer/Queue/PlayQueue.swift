// SPDX-License-Identifier: MIT
import Foundation

/// What plays after what: a list of media, which of it is current, and the rules of repeating and
/// shuffling. A value that does nothing by itself.
///
/// There is a current item from the first one that is added on. There is none in an empty queue, and
/// after the current one was removed with none to follow: what is added then, at the end, becomes
/// current.
///
/// Shuffled, the queue has an order of its own beside the listed one, and remembers it. What was
/// played comes before the current one, what was not comes after it. Going back goes through what was
/// really played, and forward again through the same. What is added is shuffled in among what was
/// not played yet.
///
/// All randomness comes from a generator within the value: what `next(_:)` shows is what
/// `advance(_:)` does, and a queue that was encoded goes on as it would have.
public struct PlayQueue: Sendable, Hashable {
  /// One place in the list. The same media may be in it more than once.
  public struct Item: Sendable, Hashable, Codable, Identifiable {
    /// Never given twice in one queue's life, also after it was encoded and decoded.
    public struct ID: Sendable, Hashable, Codable {
      public let rawValue: UInt64
    }

    public let id: ID
    public var media: Media
  }

  public enum RepeatMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// The queue ends after the last in play order.
    case off
    /// The current one, until another is asked for; then as with `off`.
    case one
    /// After the last, the first again; shuffled, in another order each round.
    case all
  }

  /// As listed.
  public internal(set) var items: [Item] = []
  public var repeatMode: RepeatMode = .off

  /// The current place in play order; the number of items where nothing is current.
  var position = 0
  /// Nil where the listed order plays.
  var shuffled: ShuffledOrder?
  var generator: ShuffleGenerator
  var nextID: UInt64 = 0

  public init() {
    self.init(seed: .random(in: 0 ... .max))
  }

  /// - Parameter seed: from which all shuffling follows.
  public init(seed: UInt64) {
    generator = ShuffleGenerator(seed: seed)
  }

  public var isEmpty: Bool { items.isEmpty }

  public var isShuffled: Bool { shuffled != nil }

  public var current: Item? { currentIndex.map { items[$0] } }

  /// In `items`.
  public var currentIndex: Int? {
    guard position < items.count else { return nil }
    return shuffled?.indices[position] ?? position
  }

  /// In the order in which they play: `items`, when not shuffled. What was played comes before the
  /// current one.
  public var playOrder: [Item] { shuffled?.indices.map { items[$0] } ?? items }
}
